#include "transports/mpi/node_flags.hpp"

#include <algorithm>
#include <utility>

namespace latecomer {
namespace {

constexpr std::size_t kLooks = 4;  // at flags in turn, in one collect()

}  // namespace

void NodeFlags::begin(NodeMemory* node, std::uint64_t plan_hash, Piggyback* piggyback) {
  node_ = node;
  piggyback_ = piggyback;
  if (node_ != nullptr) node_->enter(plan_hash);
}

void NodeFlags::end() {
  if (NodeMemory* const node = std::exchange(node_, nullptr)) node->leave();
}

void NodeFlags::abandon() {
  node_ = nullptr;
  awaits_.clear();
}

void NodeFlags::tell(bool piggybacks) {
  if (!piggybacks || piggyback_ == nullptr) return;
  piggybacked_.clear();
  piggyback_->pack(piggybacked_);
  node_->tell(piggybacked_);
}

void NodeFlags::signal(std::int32_t flag, bool piggybacks) {
  tell(piggybacks);
  node_->signal(flag);
}

void NodeFlags::end_turn(std::int32_t flag, bool piggybacks) {
  tell(piggybacks);
  node_->end_turn(flag);
}

/// Ends the await if its flag has counted so far.
bool NodeFlags::collect_one(std::size_t index, std::vector<Completion>& finished) {
  const auto& [operation, token, options] = awaits_[index];
  if (!node_->reached(operation.flag, operation.count)) return false;
  if (options.piggybacks && piggyback_ != nullptr) {
    node_->hear([&](const char* data, std::size_t bytes) { piggyback_->unpack(data, bytes); });
  }
  finished.push_back({.token = token});
  awaits_.erase(awaits_.begin() + static_cast<std::ptrdiff_t>(index));
  return true;
}

/// Mostly flags are reached in the order in which they are awaited, so it looks at the first one,
/// and at a few of the others in turn.
void NodeFlags::collect(std::vector<Completion>& finished) {
  while (!awaits_.empty() && collect_one(0, finished)) {
  }
  const std::size_t looks = std::min(kLooks, awaits_.size());
  for (std::size_t i = 0; i < looks; ++i) {
    if (next_ >= awaits_.size()) next_ = 0;
    if (!awaits_.empty() && !collect_one(next_, finished)) ++next_;
  }
}

void NodeFlags::sleep(Seconds at_most) {
  const Operation& first = awaits_.front().operation;
  node_->sleep_until(first.flag, first.count, at_most);
}

}  // namespace latecomer
