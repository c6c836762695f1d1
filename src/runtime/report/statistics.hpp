// Records of the calls on one communicator, by key and by call site: counters, times, and an
// estimate of the time that latecomer saved. Bounded: the first keys and sites have records of
// their own, all further ones share one.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/types.hpp"
#include "forecast/call_sequence.hpp"
#include "latecomer/latecomer_mpi.h"
#include "schedule/problem.hpp"

namespace latecomer {

// An estimate of the time that latecomer saved on one communicator and rank. Calls that it handled
// are compared with calls of the same class that the MPI library carried out when ranks came
// alike: the library is tried at first, and again from time to time. Only calls whose arrivals are
// known are compared.
//
// The time of a call is that from the last arrival on, since no algorithm can change what was
// before. In rooted calls, which ranks may leave earlier, it is the whole time inside.

/// Saved seconds; negative ones were lost.
struct SavedTime {
  Seconds saved = 0;
  double variance = 0;      // of `saved`
  std::uint64_t calls = 0;  // handled calls that the estimate is about
  bool rough = false;       // there are calls that only one stretch of the library's is known for:
                            // calls that follow each other resemble each other

  void add(const SavedTime& other);
};

class Savings {
 public:
  static constexpr std::size_t kMaxClasses = 64;     // of further ones there is no estimate
  static constexpr std::size_t kMaxSituations = 8;   // of a class, likewise
  static constexpr std::uint64_t kLeastLibrary = 3;  // calls of the library's that say something

  enum class By : std::uint8_t { library, handled };

  /// A call whose arrivals are known.
  struct Timed {
    Seconds lateness = 0;    // of the last rank, after the earliest
    bool root_last = false;  // in a rooted call: whether the root came last
    Seconds taken = 0;
  };

  /// Adds a call; one whose arrivals are not known counts like the others of its class.
  void add(CallKey key, By by, const std::optional<Timed>& timed);
  [[nodiscard]] SavedTime estimate() const;

 private:
  /// Numbers: how many, their mean, and the sum of their squared distances from it.
  struct Mean {
    std::uint64_t count = 0;
    double mean = 0;
    double squares = 0;

    void add(double number);
  };
  /// Calls in which ranks came alike.
  struct Situation {
    Timed first;
    Mean library, handled;
    Mean stretch;    // of the library's calls since the last handled one
    Mean stretches;  // the means of those before

    void add(By by, Seconds taken);

    [[nodiscard]] bool includes(const Timed& call) const;
  };
  struct Class {
    std::vector<Situation> situations;
    std::uint64_t timed = 0;    // handled calls whose arrivals are known
    std::uint64_t untimed = 0;  // the other handled calls
  };

  [[nodiscard]] static SavedTime estimate_of(const Situation& situation);

  std::map<CallKey, Class> classes_;
};

/// Half of the range that holds the estimate with 95 %, if calls do not depend on each other.
[[nodiscard]] Seconds half_range(const SavedTime& saved);

/// The counters of latecomer_stats by name, for adding and reporting them.
struct Counter {
  const char* name = nullptr;
  std::uint64_t latecomer_stats::* member = nullptr;
  bool of_calls = true;  // false: it does not count calls
};

/// All of them, in the order of the struct.
[[nodiscard]] std::span<const Counter> counters();

/// to += other.
void add(latecomer_stats& to, const latecomer_stats& other);
/// The number of calls.
[[nodiscard]] std::uint64_t total(const latecomer_stats& stats);

/// The counter that a call adds to by how it ended.
using CallCounter = std::uint64_t latecomer_stats::*;

/// One call that ended.
struct EndedCall {
  /// The telemetry of a call.
  struct Telemetry {
    int period;
    int position;
    Seconds waiting;
    Seconds moving;
    Savings::Timed timed;
    std::optional<Seconds> estimate_error;  // none: no arrivals were expected
  };

  std::uint64_t number = 0;  // on the communicator
  const Problem& problem;    // as far as the arguments are valid
  const void* site = nullptr;
  CallCounter counter = nullptr;
  std::uint64_t before_arrival = 0;  // operations done by then
  Seconds inside = 0;
  bool well = false;
  std::string_view algorithm = "native";
  std::string_view parameters{};
  std::optional<Telemetry> telemetry{};
};

/// The calls of one key.
struct KeyRecord {
  struct Choice {
    std::string algorithm;
    std::string parameters;
    std::uint64_t calls = 0;
  };

  latecomer_stats calls{};
  latecomer_times times{};
  std::vector<Choice> choices;  // in the order of their first use
  std::int32_t last_choice = -1;
  std::uint64_t last_call = 0;  // that went well
  std::uint64_t other_choices = 0;
  std::uint64_t estimated = 0;
  Seconds estimate_error = 0;

  /// `repeats` calls, the last one of this number.
  void count(std::string_view algorithm, std::string_view parameters, std::uint64_t number,
             std::uint64_t repeats = 1);
};

class Statistics {
 public:
  struct Records {
    KeyRecord* key = nullptr;
    latecomer_site_stats* site = nullptr;

    /// `count` calls of the MPI library's, all of which went well, the last one of this number.
    void add(CallCounter counter, std::uint64_t count, Seconds inside, std::uint64_t number) const;
  };
  /// Adds a call. Returns its records, whose addresses stay valid.
  Records add(const EndedCall& call);

  [[nodiscard]] std::size_t key_count() const { return keys_.size(); }
  [[nodiscard]] latecomer_key_stats key(std::size_t index) const;
  [[nodiscard]] std::vector<latecomer_key_stats> keys() const;
  [[nodiscard]] const std::deque<latecomer_site_stats>& sites() const { return sites_; }
  [[nodiscard]] SavedTime saved() const { return savings_.estimate(); }

 private:
  struct Key {
    Collective collective;
    Count bytes;
    bool commutative;
    bool exact;
    int period;
    int position;

    auto operator<=>(const Key&) const = default;
  };

  KeyRecord& key_record(const EndedCall& call);
  latecomer_site_stats& site_record(const void* address);
  void add_to_savings(const EndedCall& call);

  std::map<Key, std::size_t> key_places_;  // further ones share a record that has no place
  std::map<const void*, std::size_t> site_places_;
  std::deque<KeyRecord> keys_;
  std::deque<latecomer_site_stats> sites_;
  Savings savings_;
};

}  // namespace latecomer
