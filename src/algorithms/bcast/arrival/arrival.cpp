// Arrival broadcasts: the root learns which ranks have arrived and has the least busy rank send
// them the vector, so that no rank waits for an absent one. They decide while they run.
//
// Ranks that arrive while the root sends make a pipelined chain behind its receiver; a rank that
// arrives later begins another chain (arrival_rank.hpp). A single late rank has the vector m beta
// and a few words after its arrival. With arrival_b the root waits for absent ranks; with
// arrival_nb it sends to them meanwhile, one after another: the root leaves early, and so do they.
// Use them for long vectors and unknown arrivals. Source: Patarasuk and Yuan 2008; there the root
// serves each group itself, here the end of a chain serves the ranks that arrive later.
#include <algorithm>

#include "algorithms/bcast/arrival/arrival_protocol.hpp"
#include "algorithms/chains.hpp"
#include "algorithms/row.hpp"
#include "algorithms/segments.hpp"

namespace latecomer::bcast {
namespace {

/// The algorithm whose root sends to absent ranks as well.
constexpr std::string_view kAhead = "arrival_nb";

Feeding feeding_of(const Plan& plan) {
  const Problem& problem = plan.problem;
  return {problem.ranks, problem.root, std::min(plan.parameters.at("segments"), problem.count),
          plan.algorithm == kAhead ? kAnnounced : 0};
}

class ArrivalExecutor final : public Executor {
 public:
  ArrivalExecutor(const Plan& plan, Rank me)
      : context_(context_of(plan, me)), feeding_(feeding_of(plan)) {}
  [[nodiscard]] const RankContext& context() const override { return context_; }
  [[nodiscard]] std::unique_ptr<Protocol> create_protocol(
      Transport& transport, const ProtocolOptions& /*options*/) const override {
    return std::make_unique<ArrivalProtocol>(feeding_, context_, transport);
  }
  [[nodiscard]] ControlMeaning meaning(ControlWords words) const override {
    return meaning_of(words);
  }

 private:
  RankContext context_;
  Feeding feeding_;
};

std::unique_ptr<Executor> executor(const Plan& plan, Rank me) {
  return std::make_unique<ArrivalExecutor>(plan, me);
}

/// Fills in the segments of a chain of all ranks, short enough to be sent to an absent rank.
void fill_plan(Plan& plan, const Knowledge& knowledge) {
  const Problem& problem = plan.problem;
  const bool ahead = plan.algorithm == kAhead && !plan.parameters.contains("segments");
  fill_chain(plan, knowledge.network, {});
  Count& segments = plan.parameters["segments"];
  if (ahead) segments = std::max(segments, eager_parts(problem.bytes(), knowledge.network));
  segments = std::min(segments, max_segments(problem.count));
}

/// The cost of a chain and of words between root and ranks, about half of them beside the segments.
Cost cost(const Plan& plan) { return chain_cost(plan) + Cost{3 + plan.problem.ranks / 2}; }

Algorithm row(std::string_view segments) {
  return {.scratch_messages = 0,
          .parameters = {{"segments", segments, 1, {}}},
          .cost_formula = "about (S+P-2)(alpha + m/S beta) + P alpha",
          .source = "Patarasuk and Yuan 2008; later groups are served by earlier ones",
          .fill_plan = fill_plan,
          .cost = cost,
          .executor = executor};
}

}  // namespace

LATECOMER_ROW(bcast, arrival_b) {
  return row("in all, at most 65536; default: the best for a chain of all ranks");
}
LATECOMER_ROW(bcast, arrival_nb) {
  return row("in all, at most 65536; default: the best for a chain of all ranks, sent eagerly");
}

}  // namespace latecomer::bcast
