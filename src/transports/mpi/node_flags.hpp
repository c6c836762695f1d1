// The flags of a node's memory in one call: signals, waits, and turns at slices. Signals carry
// piggyback data, as messages do.
#pragma once

#include <optional>
#include <vector>

#include "protocol/transport.hpp"
#include "transports/node/node_memory.hpp"

namespace latecomer {

class NodeFlags {
 public:
  /// Begins a call; `node`: the memory that it uses, null for none. `piggyback` may be null.
  void begin(NodeMemory* node, std::uint64_t plan_hash, Piggyback* piggyback);
  /// Leaves the memory to the next call of all its ranks.
  void end();
  /// Forgets the call, whose memory is not used again.
  void abandon();

  [[nodiscard]] bool used() const { return node_ != nullptr; }
  /// True when all ranks of the node have left the call before: from then on flags may be used.
  [[nodiscard]] bool open() const { return node_->open(); }
  /// A rank of the node that follows another plan, as far as is known by now.
  [[nodiscard]] std::optional<Rank> stranger() const { return node_->stranger(); }
  /// The ranks of the node that have not entered the call.
  [[nodiscard]] std::vector<Rank> missing() const { return node_->missing(); }
  /// The others that have entered it and not left it.
  [[nodiscard]] std::vector<Rank> inside() const { return node_->inside(); }

  /// Adds 1 to a flag. `piggybacks`: the call's piggyback data are left in the node before.
  void signal(std::int32_t flag, bool piggybacks);
  void await(const Posted& posted) { awaits_.push_back(posted); }
  [[nodiscard]] bool awaits() const { return !awaits_.empty(); }
  /// Appends a completion for each awaited flag that has counted so far, of those it looks at.
  void collect(std::vector<Completion>& finished);
  /// Sleeps until the first awaited flag has counted so far, for at most so many seconds.
  void sleep(Seconds at_most);

  /// The right to write the slice that belongs to the flag.
  [[nodiscard]] NodeMemory::Turn take_turn(std::int32_t flag) { return node_->take_turn(flag); }
  /// Gives the turn back, and counts it.
  void end_turn(std::int32_t flag, bool piggybacks);

 private:
  void tell(bool piggybacks);
  bool collect_one(std::size_t index, std::vector<Completion>& finished);

  NodeMemory* node_ = nullptr;
  Piggyback* piggyback_ = nullptr;
  std::vector<char> piggybacked_;
  std::vector<Posted> awaits_;
  std::size_t next_ = 0;  // the next one to look at
};

}  // namespace latecomer
