// The slots of a process, by which links on one communicator stay apart (runtime/connection/
// internal_comm.hpp). A process never uses one again: messages that nobody receives may be under
// way there.
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include "base/types.hpp"

namespace latecomer {

/// Numbered from 1 on.
using Slot = std::uint64_t;

class Slots {
 public:
  /// A slot above this one that this process has not used, nor proposed before.
  [[nodiscard]] Slot propose(Slot above) {
    next_ = std::max(next_, above + 1);
    while (is_taken(next_)) ++next_;
    return next_++;
  }
  /// Takes a slot, if this process has not used it. Returns whether it did.
  [[nodiscard]] bool take(Slot slot) {
    if (is_taken(slot)) return false;
    taken_.insert(slot);
    while (taken_.erase(first_free_) != 0) ++first_free_;
    return true;
  }
  /// Gives one back that was taken, and not used.
  void give_back(Slot slot) {
    if (slot >= first_free_) taken_.erase(slot);
  }

 private:
  friend std::vector<Count> future_of(const Slots& slots);  // for tests

  [[nodiscard]] bool is_taken(Slot slot) const {
    return slot < first_free_ || taken_.contains(slot);
  }

  Slot next_ = 1;         // to propose
  Slot first_free_ = 1;   // all below it are taken, ...
  std::set<Slot> taken_;  // ... and these above it
};

/// One rank's search for the slot of a link: the ranks of a communicator take the largest one that
/// one of them proposes, in a meeting. If another thread's meeting took it on one of them they go
/// on above it, by a distance that other communicators hardly have.
class SlotSearch {
 public:
  /// `name`: of the communicator, alike on its ranks.
  explicit SlotSearch(std::uint64_t name) : name_(name) {}

  /// The slots to be proposed lie above this one.
  [[nodiscard]] Slot above() const { return above_; }
  /// A meeting chose `slot`, and a rank did not take it. Returns false after as many as are tried.
  [[nodiscard]] bool go_on(Slot slot) {
    constexpr int kTries = 8;
    constexpr std::uint64_t kDistances = 61;
    above_ = slot + name_ / (static_cast<std::uint64_t>(tries_) * kDistances + 1) % kDistances;
    return ++tries_ < kTries;
  }
  [[nodiscard]] int tries() const { return tries_; }

 private:
  std::uint64_t name_;
  Slot above_ = 0;
  int tries_ = 0;
};

}  // namespace latecomer
