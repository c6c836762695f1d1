// When this process came to its collectives and left them, kept in memory for the summary of the
// job. Ranks do not communicate for it: calls are matched at the end, by communicator and sequence.
//
// Bounded: where there are many calls a sample is kept. Whether a call is in it rests on its number
// alone, and each smaller sample is a part of the larger ones. So the ranks' smallest sample is one
// that all of them have.
#pragma once

#include <cstdint>
#include <deque>
#include <string_view>
#include <vector>

#include "base/types.hpp"

namespace latecomer {
struct CommState;
}

namespace latecomer::stamps {

struct Stamp {
  std::int64_t arrival = 0;  // CLOCK_MONOTONIC, nanoseconds
  std::int64_t exit = 0;
  std::int64_t ready = 0;      // as in lateness/calls.hpp
  std::int64_t bytes = -1;     // of the whole vector; -1: not known on this rank
  const void* site = nullptr;  // where the program called from
  std::uint32_t sequence = 0;  // of the collectives on the communicator
  std::uint32_t collective = 0;
};

/// The end of a call.
struct Moment {
  std::int64_t exit = 0;
  std::int64_t inside = 0;  // of its thread, which is known by the place of that
  const std::int64_t* thread = nullptr;
};

/// The ranks of some communicators.
struct Members {
  std::vector<std::int32_t> ranks;  // of MPI_COMM_WORLD, -1 for others
  std::vector<std::int32_t> sorted;
  std::vector<const Members*> within;  // those that hold all of these, and these themselves
  Moment together;                     // the end of the last call in which all wait for all
  std::uint64_t unnamed = 0;           // communicators with these members, so far
};

/// The calls on one communicator.
class CommStamps {
 public:
  /// Which one it is of those with the same members, alike on all of them: its name, and its number
  /// among those without one.
  struct Which {
    std::uint64_t name = 0;
    std::uint64_t number = 0;

    auto operator<=>(const Which&) const = default;
  };
  /// `key`: a hash of the members; null: nothing is kept of the communicator.
  CommStamps(std::uint64_t key, const Which& which, Members* members)
      : key_(key), which_(which), members_(members) {}

  void add(const Stamp& stamp);
  /// Keeps about half as many stamps.
  void thin() { reduce_to(2 * mask_ + 1); }
  /// Keeps the smaller sample of this mask.
  void reduce_to(std::uint64_t mask);
  /// Keeps nothing of the communicator from now on.
  void give_up();

  [[nodiscard]] std::uint64_t key() const { return key_; }
  [[nodiscard]] const Which& which() const { return which_; }
  [[nodiscard]] Members* members() const { return members_; }
  [[nodiscard]] std::uint64_t calls() const { return calls_; }
  /// Bits of a call's mixed number that are 0 if it is in the sample: 0, 1, 3, 7 and so on.
  [[nodiscard]] std::uint64_t mask() const { return mask_; }
  /// In the order in which they ended.
  [[nodiscard]] std::vector<Stamp>& kept() { return kept_; }

 private:
  std::uint64_t key_;
  Which which_;
  Members* members_;
  std::vector<Stamp> kept_;
  std::uint64_t calls_ = 0;
  std::uint64_t mask_ = 0;
};

inline constexpr std::size_t kMostOfOne = 1 << 16;    // stamps of a communicator, and of ...
inline constexpr std::size_t kMostOfAll = 1 << 18;    // ... all of them
inline constexpr std::size_t kMostComms = 1 << 12;    // of further ones nothing is kept
inline constexpr std::size_t kMostMembers = 1 << 20;  // of all that are kept

/// From now on stamps are kept. Before the first call.
void keep();
[[nodiscard]] bool are_kept();

/// The time of this thread in calls of MPI so far, in nanoseconds: in those that are stamped, and
/// in those that the drop-in library measures (src/dropin/unseen.hpp).
inline constinit thread_local std::int64_t inside = 0;

/// Adds a call, and finds out when this rank was ready. `collective`: its name, a text that stays.
void add(CommState& state, std::string_view collective, Stamp stamp);

/// Counts a call of which nothing is kept.
void lose();

/// After the last call.
[[nodiscard]] std::deque<CommStamps>& all();
[[nodiscard]] std::string_view name_of(std::uint32_t collective);

}  // namespace latecomer::stamps
