// The problem that a collective solves: facts that MPI guarantees equal on all ranks, and
// `in_place`.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/types.hpp"

namespace latecomer {

enum class Collective : std::uint8_t { allgather, allreduce, bcast, gather, reduce, scatter };

inline constexpr std::size_t kCollectives = 6;
[[nodiscard]] std::span<const Collective> all_collectives();
[[nodiscard]] std::string_view to_string(Collective collective);
/// Throws Error for a name that is no collective.
[[nodiscard]] Collective parse_collective(std::string_view name);

/// True if an operator combines the ranks' contributions.
[[nodiscard]] bool combines(Collective collective);
/// True if one rank, the root, has a role of its own.
[[nodiscard]] bool rooted(Collective collective);
/// True if the vector consists of parts, one per rank.
[[nodiscard]] bool parted(Collective collective);

struct Problem {
  Collective collective = Collective::allreduce;
  Rank ranks = 1;
  Count count = 0;          // elements of the whole vector
  Count element_bytes = 4;  // of one element on the wire
  Rank root = 0;            // of rooted collectives; 0 for others
  bool commutative = true;  // the operator; true where there is none
  // Input and output alias, of rooted collectives at the root only; not of a broadcast, which has
  // one buffer anyway. Local: never part of a plan's hash.
  bool in_place = false;
  bool exact = false;  // the operator gives the same bits in whatever order and slices
  // Elements of each rank's part of the vector; empty: as equal as can be, the longer ones first.
  // GCC warns of initialisers that leave out members without a default.
  // NOLINTNEXTLINE(readability-redundant-member-init)
  std::vector<Count> parts = {};

  [[nodiscard]] Count bytes() const { return count * element_bytes; }
  /// A rank's part of the vector; the whole vector if the collective has no parts.
  [[nodiscard]] Range part(Rank rank) const;

  // The elements of the vector that a rank holds before the call, and must hold after it. A
  // broadcast's root must hold nothing new.
  [[nodiscard]] Range before(Rank rank) const;
  [[nodiscard]] Range after(Rank rank) const;
  [[nodiscard]] bool in_place_at(Rank rank) const;
  /// The elements that the buffers hold. In place, the buffer with fewer of them is not used.
  [[nodiscard]] Range input(Rank rank) const;
  [[nodiscard]] Range output(Rank rank) const;

  bool operator==(const Problem&) const = default;
};

/// Throws Error naming the first field that makes no sense.
void check(const Problem& problem);
/// Throws Error unless there is a finite time for each rank.
void check_arrivals(const std::vector<Seconds>& arrivals, Rank ranks);

}  // namespace latecomer
