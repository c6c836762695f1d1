// Ranks in virtual time: each is a fiber with a clock of its own, and runs while its clock is the
// earliest. One thread, no clock of the machine: a seed gives the same order of events each time.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <queue>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "worlds/globals.hpp"

namespace latecomer::worlds {

/// Nanoseconds since the world began.
using Time = std::int64_t;
inline constexpr Time kNever = std::numeric_limits<Time>::max();
inline constexpr Time kMicrosecond = 1000;
inline constexpr Time kSecond = 1'000'000'000;

enum class End { all, stuck, late };  // `late`: the limit of time came first

class Scheduler {
 public:
  Scheduler(int ranks, Globals& globals, std::uint64_t seed);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  /// The scheduler whose rank runs in this moment; nullptr outside.
  static Scheduler* running();

  /// The body of all ranks, and the environment of each.
  void start(int rank, std::function<void()> body, std::vector<std::string> environment);
  /// What the rank's own clock shows: that of the world, `offset` later, and `drift` faster.
  void set_clock(int rank, Time offset, double drift);
  [[nodiscard]] Time shown() const { return shown(me_, clock(me_)); }
  /// The same at some time.
  [[nodiscard]] Time shown(int rank, Time at) const;
  /// Runs until all ranks have ended, nothing can happen any more, or a clock is past `limit`.
  End run(Time limit);
  /// Calls `event` once all clocks have come to `at`.
  void call(Time at, std::function<void()> event);

  /// The rank that runs, and its clock. In an event: -1, and the event's time.
  [[nodiscard]] int me() const { return me_; }
  [[nodiscard]] Time now() const { return me_ < 0 ? event_time_ : clock(me_); }
  [[nodiscard]] Time clock(int rank) const;
  [[nodiscard]] bool ended(int rank) const;
  [[nodiscard]] bool dead(int rank) const;

  /// The rank works for so long, and whoever is earlier runs before it goes on.
  void spend(Time span);
  /// The rank waits until `until`, or until somebody wakes it.
  void pause(Time until);
  /// A waiting rank goes on at `at`, if that is earlier.
  void wake(int rank, Time at);
  /// A poll found nothing: waits a while that grows with the wait, at least `at_least`.
  void idle(Time at_least);
  /// A poll found something.
  void busy();
  /// The rank never runs again.
  void kill(int rank);

  /// What ranks wrote on standard error, each piece after the rank's number.
  void say(std::string_view text);
  [[nodiscard]] const std::string& said() const { return said_; }

  std::mt19937_64& random() { return random_; }

 private:
  struct Rank;
  struct Event {
    Time at;
    std::uint64_t order;  // among events of the same time: drawn
    int rank;             // -1: `call`
    std::uint64_t version;
    std::unique_ptr<std::function<void()>> call;
    bool operator<(const Event& other) const {
      return at != other.at ? at > other.at : order > other.order;
    }
  };

  void push(Time at, int rank);
  void resume(int rank);
  static void enter(unsigned low, unsigned high);
  void enter_rank(Rank& rank);
  void leave_rank(Rank& rank);

  Globals& globals_;
  std::mt19937_64 random_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  std::priority_queue<Event> events_;
  int me_ = -1;
  int loaded_ = -1;  // the rank whose variables are in place
  Time event_time_ = 0;
  std::string said_;
  struct Main;
  std::unique_ptr<Main> main_;
};

}  // namespace latecomer::worlds
