// What takes part in the plans of a communicator on this rank: programs, indexed once and run again
// and again. Which ones are kept is this rank's affair.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "algorithms/registry.hpp"
#include "parties/make_party.hpp"
#include "protocol/protocol.hpp"

namespace latecomer {

/// A plan and what this rank does to carry it out.
struct Prepared {
  /// `eager`: elements of the longest message whose receive may be posted ahead of its turn.
  Prepared(std::shared_ptr<const Plan> made, bool in_place, Rank me, Count max_eager);

  [[nodiscard]] const Frame& frame() const { return party->frame(); }
  /// Ready to start on the transport, which is always the same one. No allocation once it was.
  [[nodiscard]] Protocol& protocol(Transport& transport, const ProtocolOptions& options) const;

  std::shared_ptr<const Plan> shared;  // as all ranks know it
  Plan plan;                           // with this rank's own `in_place`
  Count eager;
  std::unique_ptr<Party> party;
  std::size_t bytes;       // of memory, about
  std::string parameters;  // the plan's, in words, as an answer to ...
  std::string asked;       // ... the name of the row that was asked for

 private:
  mutable std::unique_ptr<Protocol> joined_;
};

class ProgramCache {
 public:
  static constexpr std::size_t kMaxBytes = std::size_t{64} << 10;  // beside the last one

  /// Valid until the next call.
  Prepared& get(const std::shared_ptr<const Plan>& plan, bool in_place, Rank me, Count eager);
  [[nodiscard]] std::uint64_t programs_built() const { return built_; }
  void clear() { entries_.clear(); }

 private:
  std::uint64_t built_ = 0;
  std::vector<std::unique_ptr<Prepared>> entries_;  // used longest ago first
};

}  // namespace latecomer
