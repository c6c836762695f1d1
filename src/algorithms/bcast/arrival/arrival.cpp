// Arrival broadcasts: the root learns who has arrived and lets them have the vector from the rank
// that is least busy, so that nobody is waited for who is absent. They decide while they run, and
// need to expect nobody's arrival.
//
// Who comes while the root sends makes a pipelined chain behind the one that it sends to; who comes
// when it is done begins another one (feeding_root.hpp). After the last arrival at most a chain of
// those who came with it is left: m beta and a few words for one late rank, and about
// (S+P-2)(alpha + m/S beta) + P alpha when all arrive together. With arrival_b the root waits for
// those who are absent; with arrival_nb it sends to them meanwhile, one after another, which they
// find in their memory when they come: the root leaves early, and so do they. Use them for long
// vectors and unknown arrivals.
// Source: Patarasuk and Yuan 2008, arrival_b and arrival_nb. There the root serves each group
// itself; here the end of a chain serves those who come later, which saves the root a vector a
// group.
#include <algorithm>

#include "algorithms/bcast/arrival/arrival_protocol.hpp"
#include "algorithms/bcast/arrival/prices.hpp"
#include "algorithms/bcast/chain.hpp"
#include "algorithms/row.hpp"
#include "patterns/pipeline.hpp"

namespace latecomer::bcast {
namespace {

class ArrivalExecutor final : public Executor {
 public:
  ArrivalExecutor(const Plan& plan, Rank me)
      : context_(context_of(plan, me)), feeding_(feeding_of(plan)) {}
  [[nodiscard]] const RankContext& context() const override { return context_; }
  [[nodiscard]] std::unique_ptr<Protocol> create_protocol(
      Transport& transport, const ProtocolOptions& /*options*/) const override {
    return std::make_unique<ArrivalProtocol>(feeding_, context_, transport);
  }

 private:
  RankContext context_;
  Feeding feeding_;
};

std::unique_ptr<Executor> executor(const Plan& plan, Rank me) {
  return std::make_unique<ArrivalExecutor>(plan, me);
}

/// Those of a chain of all ranks; short enough to be sent to one that is absent. At most as many as
/// a word can number.
void fill_plan(Plan& plan, const Knowledge& knowledge) {
  const Problem& problem = plan.problem;
  const bool asked = plan.parameters.contains("segments");
  fill_chain(plan, knowledge.network, {});
  Count& segments = plan.parameters["segments"];
  const bool ahead = plan.algorithm == kAhead && !asked;
  if (ahead) segments = std::max(segments, eager_parts(problem.bytes(), knowledge.network));
  segments = std::min(segments, max_segments(problem.count));
}

Algorithm row(std::string_view segments) {
  return {.scratch_messages = 0,
          .parameters = {{"segments", segments, 1, {}}},
          .cost_formula = "about (S+P-2)(alpha + m/S beta) + P alpha",
          .source = "Patarasuk and Yuan 2008; later groups are served by earlier ones",
          .fill_plan = fill_plan,
          .cost = chain_cost,
          .time = arrival_time,
          .time_after_last = arrival_after_last,
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
