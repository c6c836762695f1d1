// The executors of a communicator's plans on this rank: programs, indexed once and run repeatedly.
// Each rank decides by itself which ones it keeps.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "algorithms/plans.hpp"
#include "algorithms/registry.hpp"
#include "protocol/protocol.hpp"

namespace latecomer {

/// What the fullest node of a plan needs of its memory, which no other node exceeds: the same on
/// all ranks.
struct NodeNeed {
  Count count = 0;  // elements of the buffer
  std::int32_t flags = 0;
};

/// A plan and the executor of this rank's part.
struct Prepared {
  /// `eager`: elements of the longest message whose receive may be posted early.
  Prepared(std::shared_ptr<const Plan> made, bool in_place, Rank me, Count max_eager);

  [[nodiscard]] const RankContext& context() const { return executor->context(); }
  /// Returns a protocol that is ready to start. The transport must be the same each time. Allocates
  /// only the first time.
  [[nodiscard]] Protocol& protocol(Transport& transport, const ProtocolOptions& options) const;

  std::shared_ptr<const Plan> shared;  // equal on all ranks
  Plan plan;                           // with this rank's own `in_place`
  Count eager;
  std::unique_ptr<Executor> executor;
  NodeNeed need;
  std::size_t bytes;       // of memory, roughly
  std::string parameters;  // the plan's as a text, relative to ...
  std::string asked;       // ... the row that was requested

 private:
  mutable std::unique_ptr<Protocol> protocol_;
};

class ProgramCache {
 public:
  static constexpr std::size_t kMaxBytes = std::size_t{64} << 10;  // beside the last one

  /// Returns the executor for a plan; valid until the next call.
  Prepared& get(const std::shared_ptr<const Plan>& plan, bool in_place, Rank me, Count eager);
  [[nodiscard]] std::uint64_t programs_built() const { return built_; }
  void clear() { entries_.clear(); }

 private:
  std::uint64_t built_ = 0;
  std::vector<std::unique_ptr<Prepared>> entries_;  // used longest ago first
};

}  // namespace latecomer
