// Flags of a node, one for each of some slices of its buffer.
#pragma once

#include <utility>
#include <vector>

#include "schedule/builder.hpp"

namespace latecomer {

/// All ranks of a node reserve alike. Where there are no slices nothing is signalled or awaited.
class Flags {
 public:
  Flags() = default;
  /// `from_begin`: who awaits a slice writes to all of the buffer up to its end.
  Flags(std::vector<Slice> slices, Builder& builder, bool from_begin = false)
      : slices_(std::move(slices)), builder_(&builder), from_begin_(from_begin) {
    for (std::size_t i = 0; i < slices_.size(); ++i) flags_.push_back(builder.flag());
  }

  [[nodiscard]] std::int32_t flag(Count i) const { return flags_[static_cast<std::size_t>(i)]; }
  /// Signals a slice as this rank leaves it, or the end of its use.
  void signal(Count i) const {
    if (!flags_.empty()) builder_->signal(slice(i), flag(i));
  }
  void signal_end_of_use(Count i) const {
    if (!flags_.empty()) builder_->signal_end_of_use(slice(i), flag(i));
  }
  void await(Count i, Rank count = 1) const {
    if (flags_.empty()) return;
    const Slice last = slice(i);
    builder_->await(from_begin_ ? Slice{last.buffer, 0, last.end()} : last, flag(i), count);
  }

  // All slices.
  void signal() const {
    for (Count i = 0; i < size(); ++i) signal(i);
  }
  void signal_end_of_use() const {
    for (Count i = 0; i < size(); ++i) signal_end_of_use(i);
  }
  void await_all(Rank count) const {
    for (Count i = 0; i < size(); ++i) await(i, count);
  }
  /// Awaits all slices but one. `tells`: and takes their arrival stamps; returns the operations
  /// after which these are known.
  std::vector<OpIndex> await_others(Count own, bool tells) const {
    std::vector<OpIndex> known;
    for (Count i = 0; i < size(); ++i) {
      if (i == own) continue;
      await(i);
      if (!tells) continue;
      builder_->piggyback_last();
      known.push_back(builder_->last());
    }
    return known;
  }

 private:
  [[nodiscard]] Count size() const { return static_cast<Count>(flags_.size()); }
  [[nodiscard]] const Slice& slice(Count i) const { return slices_[static_cast<std::size_t>(i)]; }

  std::vector<Slice> slices_;
  std::vector<std::int32_t> flags_;
  Builder* builder_ = nullptr;
  bool from_begin_ = false;
};

}  // namespace latecomer
