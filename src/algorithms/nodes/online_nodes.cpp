// All-reduce of ranks that share nodes, for arrivals that nobody can forecast: online owners among
// the nodes. Ranks add their vectors to the node's buffer as they come; a node takes part when the
// first piece of the sum is there. Its driver orders arrivals, or hears of them, before that.
//
// Cost: of online owners for N nodes, and m gamma. Where no ranks share a node it is online owners
// among all ranks; on one node, and for vectors longer than a node's buffer, the row `nodes`.
// Source: this project (docs/online.md, docs/nodes.md).
#include <algorithm>
#include <memory>

#include "algorithms/nodes/cut.hpp"
#include "algorithms/nodes/driver_protocol.hpp"
#include "algorithms/nodes/lifted_row.hpp"
#include "algorithms/nodes/sum.hpp"
#include "algorithms/owners/online_protocol.hpp"
#include "algorithms/owners/planning.hpp"
#include "algorithms/plans.hpp"
#include "algorithms/registry.hpp"
#include "base/error.hpp"

namespace latecomer::allreduce {
namespace {

const Algorithm& row_among() { return find_algorithm(Collective::allreduce, "online_owners"); }

bool usable(const Problem& problem, const Placement& placement) {
  return goes_in_waves(problem, placement) && number_of_waves(problem) == 1 &&
         Nodes(placement, problem.ranks).count() > 1;
}

/// Another row's plan.
Plan without_driver(const Plan& plan, const Knowledge& knowledge) {
  const Algorithm& row = shares_nodes(knowledge.placement)
                             ? find_algorithm(Collective::allreduce, "nodes")
                             : row_among();
  return make_plan(row, plan.problem, parameters_for(row, plan.parameters), knowledge);
}

/// The first node whose driver comes early.
Count first_driver(const Plan& plan, const std::vector<Seconds>& arrivals) {
  if (arrivals.empty()) return 0;
  const auto first = std::ranges::min_element(
      plan.table, {}, [&](Count driver) { return arrivals[static_cast<std::size_t>(driver)]; });
  return first - plan.table.begin();
}

/// Drivers answer before their nodes are complete, as progress threads do.
void fill_plan(Plan& plan, const Knowledge& knowledge) {
  if (!usable(plan.problem, knowledge.placement)) {
    plan = without_driver(plan, knowledge);
    return;
  }
  const Nodes nodes(knowledge.placement, plan.problem.ranks);
  plan.placement = knowledge.placement;
  plan.table = choose_drivers(plan.problem, nodes, 1, knowledge.for_tasks(), 0);
  Knowledge among = knowledge;
  among.placement = {};
  among.arrivals = arrivals_of_nodes(plan, nodes, knowledge.arrivals);
  among.background = true;
  plan.parameters.try_emplace("coordinator", first_driver(plan, knowledge.for_tasks()));
  plan.inner = {make_plan(row_among(), problem_among(plan.problem, nodes, plan.problem.count),
                          parameters_for(row_among(), plan.parameters), among)};
  for (const auto& [name, value] : plan.inner.front().parameters) plan.parameters[name] = value;
  fill_pieces(plan);
}

void check(const Plan& plan) {
  if (!usable(plan.problem, plan.placement)) refuse_table(plan, "a problem that nodes take");
  const Nodes nodes(plan.placement, plan.problem.ranks);
  check_drivers(plan, nodes);
  const Problem among = problem_among(plan.problem, nodes, plan.problem.count);
  const bool fits = plan.inner.size() == 1 && plan.inner.front().algorithm == row_among().name &&
                    plan.inner.front().problem == among &&
                    plan.inner.front().progress == Progress::background;
  if (!fits) {
    throw Error("inner plans", std::to_string(plan.inner.size()),
                "one of online_owners for " + std::to_string(nodes.count()) + " places");
  }
  check_plan(plan.inner.front());
  for (const auto& [name, value] : plan.inner.front().parameters) {
    if (plan.parameters.at(name) == value) continue;
    throw Error(name, std::to_string(plan.parameters.at(name)), std::to_string(value));
  }
}

/// One rank's part: it adds its vector, and copies the result. The driver's node does the rest.
class NodeExecutor final : public Executor {
 public:
  NodeExecutor(const Plan& plan, Rank me)
      : nodes_(plan.placement, plan.problem.ranks), drivers_(plan.table), own_(program(plan, me)) {
    const Drivers drivers{nodes_, drivers_};
    context_ = own_.context();
    if (!drivers.drives(me)) return;
    Plan among = plan.inner.front();
    if (vector_.sums.empty()) among.problem.in_place = plan.problem.in_place;
    among_ = std::make_unique<owners::OnlineExecutor>(among, nodes_.node(me), "node");
    context_.scratch_count = among_->context().scratch_count;
  }
  [[nodiscard]] const RankContext& context() const override { return context_; }
  [[nodiscard]] std::unique_ptr<Protocol> create_protocol(
      Transport& transport, const ProtocolOptions& options) const override {
    if (!among_) return own_.create_protocol(transport, options);
    return std::make_unique<DriverProtocol>(own_, *among_, vector_, Drivers{nodes_, drivers_},
                                            transport, options);
  }
  /// Nodes are named by their drivers.
  [[nodiscard]] ControlMeaning meaning(ControlWords words) const override {
    ControlMeaning meaning = owners::meaning_of(words);
    const Drivers drivers{nodes_, drivers_};
    if (meaning.rank) meaning.rank = drivers.of(*meaning.rank);
    for (ControlMeaning::Entry& entry : meaning.entries) entry.rank = drivers.of(entry.rank);
    return meaning;
  }

 private:
  Program program(const Plan& plan, Rank me);

  Nodes nodes_;
  std::vector<Count> drivers_;
  NodeVector vector_;
  ProgramExecutor own_;
  RankContext context_;
  std::unique_ptr<Executor> among_;  // of the node, for its driver
};

/// Writes the program of this rank's own part, and notes where the node's vector is.
Program NodeExecutor::program(const Plan& plan, Rank me) {
  Builder builder(plan, me);
  const NodeRank rank(plan, builder);
  if (rank.alone()) return builder.finish();
  const Wave wave = waves_of(plan, rank, builder).front().front();
  Sum sum(wave, rank, builder);
  const Flags result = wave.flags(builder);
  for (Count piece = 0; piece < wave.pieces; ++piece) {
    sum.add(piece, piece == 0);
    for (Count slice = 0; slice < wave.slices; ++slice) {
      vector_.sums.push_back({wave.slice(piece, slice), sum.flag(piece, slice)});
    }
    vector_.results.push_back({wave.piece(piece), result.flag(piece)});
  }
  for (Count piece = 0; piece < wave.pieces; ++piece) {
    result.await(piece);
    if (piece == 0) builder.piggyback_last();
    builder.copy(wave.piece(piece), builder.output(wave.vector(piece)));
  }
  vector_.whole = wave.whole();
  vector_.ranks = rank.size();
  vector_.tells = plan.telemetry;
  return builder.finish();
}

Cost cost(const Plan& plan) { return Cost{0, 0, plan.problem.count} + cost_of(plan.inner.front()); }

/// Of the protocol among the nodes: work within them is not in it.
Seconds mean_after_last(const Plan& plan, const Network& network,
                        const std::vector<Seconds>& arrivals) {
  const Plan& among = plan.inner.front();
  const Nodes nodes(plan.placement, plan.problem.ranks);
  std::vector<Seconds> of_nodes = arrivals_of_nodes(plan, nodes, arrivals);
  const auto coordinator = static_cast<std::size_t>(among.parameters.at("coordinator"));
  const Seconds first = arrivals[static_cast<std::size_t>(plan.table[coordinator])];
  for (Seconds& each : of_nodes) each = std::max(each, first);
  return row_among().mean_after_last(among, network, of_nodes);
}

/// Programs of other rows tell all ranks, if need be by messages of their own.
bool informs_all(const Plan& plan) {
  const Algorithm& row = find_algorithm(Collective::allreduce, plan.algorithm);
  return row.kind == Kind::program || plan.problem.count > 0;
}

/// `problem`: the one among the nodes.
bool worth_planning(const Problem& problem, const Network& network) {
  return problem.ranks > 1 && number_of_waves(problem) == 1 &&
         owners::worth_planning_owners(problem, network);
}

}  // namespace

LATECOMER_ROW(allreduce, online_nodes) {
  std::vector<Parameter> parameters = owners::online_parameters(
      "of the vector, at most 4096; default: by cost",
      "the node whose driver orders arrivals; default: one that mostly comes early");
  parameters.push_back(pieces_parameter());
  return {.lifts = true,
          .coordinated = true,
          .commutative_only = true,
          .runs_ahead = true,
          .scratch_messages = 2,
          .parameters = std::move(parameters),
          .cost_formula = "of online_owners for the N nodes, + m gamma",
          .source = "this project, docs/online.md",
          .fill_plan = fill_plan,
          .check = check,
          .cost = cost,
          .mean_after_last = mean_after_last,
          .informs_all = informs_all,
          .worth_planning = worth_planning,
          .executor = executor_of<NodeExecutor>};
}

}  // namespace latecomer::allreduce
