// The memory that the ranks of a node share: a buffer, and words by which they find each other
// (node_words.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/types.hpp"
#include "transports/node/node_words.hpp"
#include "transports/node/shared_memory.hpp"

namespace latecomer {

/// The part of the memory that may be used.
struct NodeRoom {
  std::int32_t flags = 0;
  std::size_t bytes = 0;  // of the buffer
};

/// For one thread at a time.
class NodeMemory : private NodeWords<std::atomic> {
  using Words = NodeWords<std::atomic>;

 public:
  /// The most bytes of a buffer: elements may lie further apart than their data need.
  static constexpr std::size_t kMaxBytes = std::size_t{2} << 30;
  /// The bytes of the whole memory.
  [[nodiscard]] static std::size_t bytes(std::size_t mates, Rank ranks);

  /// `mates`: the ranks of the node, `me` among them; `ranks`: of the communicator. Throws
  /// std::system_error.
  NodeMemory(SharedMemory memory, std::vector<Rank> mates, Rank me, Rank ranks);

  using Words::all_signed;
  using Words::sign;

  /// The room that a program gets which needs so much: it may grow somewhat.
  [[nodiscard]] static NodeRoom room_for(std::int32_t flags, std::size_t bytes);
  /// Reserves flags and a buffer of so many bytes, and returns the buffer. Between calls. Throws
  /// std::system_error.
  void* reserve(std::int32_t flags, std::size_t bytes);
  /// Removes the name of the memory, when all have opened it.
  void unlink() { memory_.unlink(); }
  /// Leaks the memory, since MPI may still use it.
  void abandon();

  // --- Calls ---

  using Words::enter;
  using Words::leave;
  using Words::open;
  /// A rank that is in this call with another plan, as far as is known by now.
  [[nodiscard]] std::optional<Rank> stranger() const;
  /// The ranks that have not entered this call.
  [[nodiscard]] std::vector<Rank> missing() const;
  /// The other ranks that have entered it and not left it.
  [[nodiscard]] std::vector<Rank> inside() const;

  // --- Flags ---

  using Turn = NodeTurn;
  using Words::end_turn;
  using Words::reached;
  using Words::signal;
  using Words::sleep_until;
  using Words::take_turn;

  // --- Piggyback data ---

  /// Leaves data for the others, who know them after this rank's next signal. In a call, data begin
  /// with those that were left before.
  void tell(std::span<const char> data);
  /// Calls `take(data, bytes)` with the data of each other rank.
  template <class Take>
  void hear(Take&& take) const {
    for (std::size_t mate = 0; mate < mates_.size(); ++mate) {
      if (mate == place_) continue;
      if (const std::size_t told = told_by(mate); told > 0) take(notes_of(mate), told);
    }
  }

 private:
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);  // hence free of addresses

  /// Where the parts of the memory begin; the cells come first.
  struct Parts {
    Parts(std::size_t mates, Rank ranks);
    std::size_t notes;
    std::size_t flags;
    std::size_t buffer;
  };

  [[nodiscard]] char* notes_of(std::size_t mate) const;
  [[nodiscard]] std::size_t told_by(std::size_t mate) const;

  SharedMemory memory_;
  std::vector<Rank> mates_;
  std::size_t place_ = 0;  // of this rank among them
  Parts parts_;
  std::size_t note_bytes_;  // of one rank
  Mapping control_;         // cells, notes and flags
  Mapping buffer_;
  std::int32_t reserved_flags_ = 0;
};

}  // namespace latecomer
