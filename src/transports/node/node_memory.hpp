// The memory that the ranks of a node share: a buffer, flags that count, and the place of each rank
// in the calls that use them.
//
// Nothing is ever reset. Each word names the call that it belongs to, and a word of another call
// counts as 0: a rank may begin a call while others are in the call before. It touches the buffer
// and the flags when all have left that one.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/types.hpp"
#include "transports/node/shared_memory.hpp"

namespace latecomer {

/// The part of the memory that may be used.
struct NodeRoom {
  std::int32_t flags = 0;
  std::size_t bytes = 0;  // of the buffer
};

/// For one thread at a time.
class NodeMemory {
 public:
  /// The most bytes of a buffer: elements may lie further apart than their data need.
  static constexpr std::size_t kMaxBytes = std::size_t{2} << 30;
  /// The bytes of the whole memory.
  [[nodiscard]] static std::size_t bytes(std::size_t mates, Rank ranks);

  /// `mates`: the ranks of the node, `me` among them; `ranks`: of the communicator. Throws
  /// std::system_error.
  NodeMemory(SharedMemory memory, std::vector<Rank> mates, Rank me, Rank ranks);
  /// The memory of a rank that is alone on its node.
  [[nodiscard]] static std::unique_ptr<NodeMemory> alone(Rank me, Rank ranks);

  // A proof that all ranks share the memory: each signs with a number that it could not guess, and
  // then looks for all signatures.
  void sign(std::uint64_t number);
  [[nodiscard]] bool all_signed(std::uint64_t number) const;

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

  /// Enters the next call. All ranks make the same ones.
  void enter(std::uint64_t plan_hash);
  /// Returns true when all ranks have left the call before: from then on the buffer and the flags
  /// may be used.
  [[nodiscard]] bool open();
  /// Leaves the call: this rank touches nothing of it any more.
  void leave();
  /// A rank that is in this call with another plan, as far as is known by now.
  [[nodiscard]] std::optional<Rank> stranger() const;
  /// The ranks that have not entered this call.
  [[nodiscard]] std::vector<Rank> missing() const;

  // --- Flags ---

  void signal(std::int32_t flag);
  [[nodiscard]] bool reached(std::int32_t flag, Rank count) const;
  /// Sleeps until the flag has counted so far, for at most so many seconds. May end earlier.
  void sleep_until(std::int32_t flag, Rank count, Seconds at_most);
  /// The right to write the slice that belongs to a flag.
  enum class Turn : std::uint8_t { busy, first, later };
  [[nodiscard]] Turn take_turn(std::int32_t flag);
  /// Gives the turn back, and adds 1.
  void end_turn(std::int32_t flag);

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
  static constexpr std::size_t kLine = 64;  // of the cache

  // NOLINTBEGIN(clang-analyzer-optin.performance.Padding): lines of the cache are apart on purpose
  /// One rank's place in the calls.
  struct alignas(kLine) Cell {
    std::atomic<std::uint64_t> entered;  // the call, and half of the plan's hash
    std::atomic<std::uint64_t> left;     // the call
    std::atomic<std::uint64_t> signature;
    // On a line of its own: it is written while others wait for the words above.
    alignas(kLine) std::atomic<std::uint64_t> told;  // the call, and bytes of its notes
  };
  // NOLINTEND(clang-analyzer-optin.performance.Padding)
  struct alignas(kLine) Flag {
    std::atomic<std::uint64_t> word;     // the call, whether a rank has the turn, and the count
    std::atomic<std::uint32_t> awaited;  // the count that ranks sleep until; 0: none sleeps
    std::atomic<std::uint32_t> woken;    // how often they were
  };
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);  // hence free of addresses

  /// Where the parts of the memory begin; the cells come first.
  struct Parts {
    Parts(std::size_t mates, Rank ranks);
    std::size_t notes;
    std::size_t flags;
    std::size_t buffer;
  };

  [[nodiscard]] Cell& cell(std::size_t mate) const;
  [[nodiscard]] Flag& flag(std::int32_t index) const;
  static void wake(Flag& flag, std::uint64_t count);
  [[nodiscard]] char* notes_of(std::size_t mate) const;
  [[nodiscard]] std::size_t told_by(std::size_t mate) const;
  [[nodiscard]] std::uint64_t count_of(std::uint64_t word) const;
  [[nodiscard]] bool is_stranger(std::size_t mate) const;

  SharedMemory memory_;
  std::vector<Rank> mates_;
  std::size_t place_ = 0;  // of this rank among them
  Parts parts_;
  std::size_t note_bytes_;  // of one rank
  Mapping control_;         // cells, notes and flags
  Mapping buffer_;
  std::int32_t reserved_flags_ = 0;

  std::uint32_t call_ = 0;
  std::uint32_t plan_ = 0;  // half of the hash
  std::size_t gone_ = 0;    // ranks that are known to have left the call before
};

}  // namespace latecomer
