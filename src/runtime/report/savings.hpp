// An estimate of the time that latecomer saved on one communicator and rank. Calls that it handled
// are compared with calls of the same class that the MPI library carried out when ranks came
// alike: the library is tried at first, and again from time to time. Only calls whose arrivals are
// known are compared.
//
// The time of a call is that from the last arrival on, since no algorithm can change what was
// before. In rooted calls, which ranks may leave earlier, it is the whole time inside.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/types.hpp"
#include "forecast/call_sequence.hpp"

namespace latecomer {

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

}  // namespace latecomer
