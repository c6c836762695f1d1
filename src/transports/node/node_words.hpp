// The words by which the ranks of a node find each other in shared memory: the place of each rank
// in the calls, and flags that count.
//
// Nothing is ever reset. Each word names the call that it belongs to, and a word of another call
// counts as 0: a rank may begin a call while others are in the call before. It touches the buffer
// and the flags when all have left that one.
//
// A test goes through all orders of their loads and stores, with an `Atomic` of its own.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/types.hpp"
#include "transports/node/shared_memory.hpp"

namespace latecomer {

/// The right to write the slice that belongs to a flag.
enum class NodeTurn : std::uint8_t { busy, first, later };

/// One rank's view of the words. Ranks of the node have numbers from 0 on.
template <template <class> class Atomic>
class NodeWords {
  static constexpr std::size_t kLine = 64;  // of the cache

 public:
  // NOLINTBEGIN(clang-analyzer-optin.performance.Padding): lines of the cache are apart on purpose
  /// One rank's place in the calls.
  struct alignas(kLine) Cell {
    Atomic<std::uint64_t> entered;  // the call, and half of the plan's hash
    Atomic<std::uint64_t> left;     // the call
    Atomic<std::uint64_t> signature;
    // On a line of its own: it is written while others wait for the words above.
    alignas(kLine) Atomic<std::uint64_t> told;  // the call, and bytes of its notes
  };
  // NOLINTEND(clang-analyzer-optin.performance.Padding)
  struct alignas(kLine) Flag {
    Atomic<std::uint64_t> word;     // the call, whether a rank has the turn, and the count
    Atomic<std::uint32_t> awaited;  // the count that ranks sleep until; 0: none sleeps
    Atomic<std::uint32_t> woken;    // how often they were
  };

  NodeWords() = default;
  NodeWords(Cell* cells, std::size_t mates, std::size_t me, Flag* flags)
      : cells_(cells), mates_(mates), me_(me), flags_(flags) {}

  // A proof that all ranks share the memory: each signs with a number that it could not guess, and
  // then looks for all signatures.
  void sign(std::uint64_t number) { cells_[me_].signature = signature_of(number, me_); }
  [[nodiscard]] bool all_signed(std::uint64_t number) const {
    for (std::size_t mate = 0; mate < mates_; ++mate) {
      if (cells_[mate].signature != signature_of(number, mate)) return false;
    }
    return true;
  }

  // --- Calls ---

  /// Enters the next call. All ranks make the same ones.
  void enter(std::uint64_t plan_hash) {
    ++call_;
    plan_ = static_cast<std::uint32_t>(plan_hash ^ plan_hash >> 32);
    gone_ = 0;
    // At least one of two ranks that enter at the same time sees the other (open, is_stranger).
    cells_[me_].entered.store(named(plan_), std::memory_order_seq_cst);
  }
  /// Returns true when all ranks have left the call before: from then on the buffer and the flags
  /// may be used.
  [[nodiscard]] bool open() {
    for (; gone_ < mates_; ++gone_) {
      if (is_before(cells_[gone_].left.load(std::memory_order_acquire), call_ - 1)) return false;
    }
    return true;
  }
  /// Leaves the call: this rank touches nothing of it any more.
  void leave() { cells_[me_].left.store(named(0), std::memory_order_release); }
  /// True if the rank is in this call with another plan.
  [[nodiscard]] bool is_stranger(std::size_t mate) const {
    const std::uint64_t entered = cells_[mate].entered.load(std::memory_order_seq_cst);
    return call_of(entered) == call_ && entered != named(plan_);
  }
  /// True if the rank has not entered this call.
  [[nodiscard]] bool is_missing(std::size_t mate) const {
    return is_before(cells_[mate].entered.load(std::memory_order_relaxed), call_);
  }
  /// True if the rank has entered this call and not left it.
  [[nodiscard]] bool is_inside(std::size_t mate) const {
    return !is_missing(mate) && is_before(cells_[mate].left.load(std::memory_order_relaxed), call_);
  }

  // --- Flags ---

  void signal(std::int32_t index) {
    Flag& flag = flags_[index];
    std::uint64_t found = flag.word.load(std::memory_order_relaxed);
    while (!flag.word.compare_exchange_weak(found, named(count_of(found) + 1),
                                            std::memory_order_seq_cst, std::memory_order_relaxed)) {
    }
    wake(flag, count_of(found) + 1);
  }
  [[nodiscard]] bool reached(std::int32_t index, Rank count) const {
    const std::uint64_t found = count_of(flags_[index].word.load(std::memory_order_seq_cst));
    return (found & kCount) >= static_cast<std::uint64_t>(count);
  }
  /// Sleeps until the flag has counted so far, for at most so many seconds. May end earlier.
  void sleep_until(std::int32_t index, Rank count, Seconds at_most) {
    Flag& flag = flags_[index];
    const std::uint32_t woken = flag.woken.load(std::memory_order_seq_cst);
    flag.awaited.store(static_cast<std::uint32_t>(count), std::memory_order_seq_cst);
    if (!reached(index, count)) wait_for_change(flag.woken, woken, at_most);
  }
  [[nodiscard]] NodeTurn take_turn(std::int32_t index) {
    Atomic<std::uint64_t>& word = flags_[index].word;
    std::uint64_t found = word.load(std::memory_order_relaxed);
    do {
      if ((count_of(found) & kTurn) != 0) return NodeTurn::busy;
    } while (!word.compare_exchange_weak(found, named(count_of(found) | kTurn),
                                         std::memory_order_acquire, std::memory_order_relaxed));
    return count_of(found) == 0 ? NodeTurn::first : NodeTurn::later;
  }
  /// Gives the turn back, and adds 1.
  void end_turn(std::int32_t index) {
    Flag& flag = flags_[index];
    const std::uint64_t before = flag.word.fetch_add(1 - kTurn, std::memory_order_seq_cst);
    wake(flag, before + 1);
  }

  // --- Notes ---

  /// Tells the others that so many bytes of this rank's notes are there.
  void tell(std::size_t bytes) { cells_[me_].told.store(named(bytes), std::memory_order_release); }
  /// The bytes of the rank's notes in this call.
  [[nodiscard]] std::size_t told_by(std::size_t mate) const {
    const std::uint64_t told = cells_[mate].told.load(std::memory_order_acquire);
    return call_of(told) == call_ ? told & kLow : 0;
  }

 private:
  static constexpr std::uint64_t kTurn = std::uint64_t{1} << 31;
  static constexpr std::uint64_t kCount = kTurn - 1;
  static constexpr std::uint64_t kLow = kTurn | kCount;

  [[nodiscard]] static std::uint64_t signature_of(std::uint64_t number, std::size_t mate) {
    return (number + mate + 1) * 0x9e3779b97f4a7c15U;
  }
  [[nodiscard]] std::uint64_t named(std::uint64_t low) const {
    return std::uint64_t{call_} << 32 | low;
  }
  [[nodiscard]] static std::uint32_t call_of(std::uint64_t word) {
    return static_cast<std::uint32_t>(word >> 32);
  }
  [[nodiscard]] static bool is_before(std::uint64_t word, std::uint32_t call) {
    return static_cast<std::int32_t>(call_of(word) - call) < 0;
  }
  /// The count and the turn of a flag in this call.
  [[nodiscard]] std::uint64_t count_of(std::uint64_t word) const {
    return call_of(word) == call_ ? word & kLow : 0;
  }
  /// Wakes the ranks that sleep until the flag has counted so far. Of a rank that goes to sleep and
  /// one that counts at least one sees what the other wrote.
  static void wake(Flag& flag, std::uint64_t count) {
    const std::uint32_t awaited = flag.awaited.load(std::memory_order_seq_cst);
    if (awaited == 0 || (count & kCount) < awaited) return;
    flag.awaited.store(0, std::memory_order_relaxed);
    flag.woken.fetch_add(1, std::memory_order_seq_cst);
    wake_all(flag.woken);
  }

  Cell* cells_ = nullptr;
  std::size_t mates_ = 0;
  std::size_t me_ = 0;
  Flag* flags_ = nullptr;
  std::uint32_t call_ = 0;
  std::uint32_t plan_ = 0;  // half of the hash
  std::size_t gone_ = 0;    // ranks that are known to have left the call before
};

}  // namespace latecomer
