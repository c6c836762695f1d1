#include "algorithms/owners/online_executor.hpp"

#include "algorithms/owners/planning.hpp"

namespace latecomer::owners {
namespace {

/// All contributions to the first block are combined in its result, which reaches all ranks; in an
/// all-gather the first piece of each rank's part does. So do the arrival stamps that they carry.
Count stamped_blocks(const Plan& plan) {
  return combines(plan.problem.collective) ? 1 : plan.problem.ranks;
}

}  // namespace

OnlineExecutor::OnlineExecutor(const Plan& plan, Rank me, const char* member)
    : call_{plan.problem.ranks,
            blocks_of(plan),
            static_cast<Rank>(plan.parameters.at("coordinator")),
            plan.parameters.at("window"),
            plan.parameters.at("step"),
            static_cast<Rank>(plan.parameters.at("children")),
            combines_of(plan),
            member},
      layout_{ranges_of(plan), longest_block(plan), plan.problem.before(me).begin,
              plan.telemetry ? stamped_blocks(plan) : 0},
      context_(context_of(plan, me)) {
  if (call_.combines == Combines::no) return;
  context_.scratch_count = static_cast<Count>(OnlineRank::kLandings) * layout_.longest;
}

std::unique_ptr<Protocol> OnlineExecutor::create_protocol(
    Transport& transport, const ProtocolOptions& /*options*/) const {
  return std::make_unique<OnlineProtocol>(call_, layout_, context_, transport);
}

}  // namespace latecomer::owners
