// The place of a rank among the calls, and the notices in which other ranks say theirs: "this is my
// plan, what is yours?" after a long wait, and "I failed".
//
// No messages are here: a test goes through all orders of events.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/types.hpp"

namespace latecomer {

class Notices {
 public:
  /// The part of a call that a rank is in; announcement: it waits for rank 0 to announce the plan;
  /// memory: the ranks agree on the memory of nodes, and without it follow another plan.
  enum class Part : std::uint64_t { none, announcement, memory, plan, exchange, review, left };

  enum Kind : std::uint64_t { kAsk, kFailed };
  struct Place {
    std::uint64_t position = 0;
    std::uint64_t call = 0;
    Part part = Part::none;
    std::uint64_t plan_hash = 0;  // 0: no plan yet
  };
  struct Notice {
    std::uint64_t kind = kAsk;
    Place from;
  };

  /// From now on calls are another communicator's, of the same ranks, numbered on from these.
  void continue_after(std::uint64_t position, std::uint64_t calls);
  /// Notes that this rank enters a call and has no plan yet. `position`: among all calls of the
  /// communicator, native ones included; `call`: among those that latecomer handles.
  void enter_call(std::uint64_t position, std::uint64_t call);
  /// Notes that this rank follows a plan with this hash; `part`: plan, the agreement on memory
  /// before it, or the arrival exchange after it.
  void enter_part(Part part, std::uint64_t plan_hash);
  /// Notes that this rank leaves a call to the MPI library because of its own arguments.
  void leave_to_library(std::uint64_t position);
  /// Notes that the library refused the call that was left to it: the next one has its place.
  void come_back();

  /// The notice for `peer`, once in each part of a call; nothing the second time.
  [[nodiscard]] std::optional<Notice> ask(Rank peer);
  /// The notice that this rank failed, for ranks that did not fail themselves: in the call that it
  /// is in, or in the one before in which there was the trouble that it has found.
  [[nodiscard]] Notice failure() const;
  [[nodiscard]] bool has_failed(Rank peer) const;
  /// A notice came.
  void hear(Rank from, const Notice& notice);

  /// Returns a text if another rank failed by now, or if in one of the last calls it follows
  /// another plan or waits for an announcement that rank 0 does not make. Notices of calls to come
  /// are kept.
  [[nodiscard]] std::optional<std::string> check();
  /// After leave_to_library(): returns a text if another rank waits for this one there, or in an
  /// earlier call that it left so. Failure notices stay unread: after a failure all ranks may go on
  /// with native calls.
  [[nodiscard]] std::optional<std::string> check_left();

 private:
  friend std::vector<Count> future_of(const Notices& notices);  // for tests

  static constexpr std::size_t kHistory = 16;

  struct Received {
    Rank from = 0;
    Notice notice;
  };
  struct Noted {
    Place place;
    bool announced = false;  // the plan, by rank 0
  };

  void set_place(const Place& place);
  [[nodiscard]] bool concerns_later(const Notice& notice) const;
  [[nodiscard]] bool is_ahead(const Notice& notice) const;
  [[nodiscard]] bool is_earlier_communicators(const Notice& notice) const {
    return earlier_ > 0 && notice.from.position <= earlier_;
  }
  [[nodiscard]] std::optional<std::string> conflict_of(const Received& received) const;
  [[nodiscard]] std::optional<std::string> trouble_of(const Received& received);

  Place here_;
  bool announced_ = false;                 // the plan of this call, by rank 0
  std::array<Noted, kHistory> history_{};  // the last places with a plan, or left
  std::size_t noted_ = 0;                  // places noted ever
  std::vector<Received> unread_;
  std::vector<Rank> asked_;
  std::vector<Rank> failed_;                      // ranks that announced it
  Place trouble_{.position = ~std::uint64_t{0}};  // the first that was found
  // The last call of the communicator that had the resources before.
  std::uint64_t earlier_ = 0;
  std::uint64_t earlier_calls_ = 0;
};

}  // namespace latecomer
