// Plans as Python sees them: their programs, prices, checks and simulations.
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <optional>

#include "algorithms/plans.hpp"
#include "algorithms/registry.hpp"
#include "bindings.hpp"
#include "capi/core/core.hpp"
#include "price/candidates.hpp"
#include "price/price.hpp"
#include "simulate/elements.hpp"
#include "simulate/simulate.hpp"
#include "telemetry/call_series.hpp"
#include "telemetry/watch.hpp"

namespace latecomer {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

nb::tuple as_tuple(const Slice& slice) {
  static constexpr const char* names[kBuffers] = {"input", "output", "scratch", "node"};
  return nb::make_tuple(names[static_cast<int>(slice.buffer)], slice.begin, slice.end());
}

nb::dict describe_operation(const Operation& op, const std::vector<OpIndex>& after) {
  static constexpr const char* kinds[] = {"arrive", "send",   "recv",  "combine",
                                          "copy",   "signal", "await", "accumulate"};
  const bool local =
      op.kind == OpKind::combine || op.kind == OpKind::copy || op.kind == OpKind::accumulate;
  nb::dict all;
  all["kind"] = kinds[static_cast<int>(op.kind)];
  if (op.kind == OpKind::send || op.kind == OpKind::recv) all["peer"] = op.peer;
  const bool tells = op.kind == OpKind::signal && op.target.empty();
  const bool ends_use = op.kind == OpKind::signal && !tells;
  const bool waits = op.kind == OpKind::await;
  if (op.kind == OpKind::send || local || tells) all["source"] = as_tuple(op.source);
  if (op.kind == OpKind::recv || local || ends_use || waits) all["target"] = as_tuple(op.target);
  if (has_flag(op)) all["flag"] = op.flag;
  if (waits) all["count"] = op.count;
  if (op.kind == OpKind::combine) all["into"] = op.into == Into::left ? "left" : "right";
  all["after"] = nb::cast(after);
  all["text"] = to_text(op);
  return all;
}

/// The arrival stamps that a rank's messages carry, counted.
class CountedStamps final : public Piggyback {
 public:
  CountedStamps(Rank me, Rank ranks) : stamps_(ranks) { stamps_.arrive(me, {}); }

  void pack(std::vector<char>& to) override {
    const std::size_t before = to.size();
    stamps_.pack(to);
    bytes_ += to.size() - before;
  }
  void unpack(const char* data, std::size_t bytes) override { stamps_.unpack(data, bytes); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  ArrivalStamps stamps_;
  std::size_t bytes_ = 0;
};

/// A complete plan, from the words that the command line and the Python functions use.
class PyPlan {
 public:
  PyPlan(const Problem& problem, const std::string& algorithm, const Arrivals& arrivals,
         const Network& network, const Placement& placement, bool telemetry)
      : arrivals_(arrivals), network_(network), placement_(numbered(placement)) {
    const Choice choice = parse_choice(problem.collective, algorithm);
    asked_ = choice.algorithm->name;
    check_placement(placement_, problem.ranks);
    Knowledge knowledge{arrivals, network_, telemetry};
    if (shares_nodes(placement_)) knowledge.placement = placement_;
    plan_ = interruptible(
        [&] { return make_plan(*choice.algorithm, problem, choice.parameters, knowledge); });
  }

  [[nodiscard]] std::string text() const { return to_text(plan_); }
  [[nodiscard]] std::string program_text(Rank rank) const {
    return interruptible([&] { return to_text(build_program(plan_, rank)); });
  }
  [[nodiscard]] nb::list operations(Rank rank) const {
    const Program program = interruptible([&] { return build_program(plan_, rank); });
    nb::list all;
    for (std::size_t i = 0; i < program.operations.size(); ++i) {
      if (i % kOperationsBetween == 0) check_signals();
      all.append(describe_operation(program.operations[i], program.after[i]));
    }
    return all;
  }
  [[nodiscard]] const std::string& algorithm() const { return plan_.algorithm; }
  [[nodiscard]] const Problem& problem() const { return plan_.problem; }
  [[nodiscard]] Rank ranks() const { return plan_.problem.ranks; }
  [[nodiscard]] Count count() const { return plan_.problem.count; }
  [[nodiscard]] std::string parameters() const { return describe_parameters(plan_, asked_); }
  /// True for a protocol, which has no programs.
  [[nodiscard]] bool decides_while_it_runs() const {
    return find_algorithm(plan_.problem.collective, plan_.algorithm).kind == Kind::protocol;
  }
  [[nodiscard]] const std::vector<Rank>& order() const { return plan_.order; }
  [[nodiscard]] const std::vector<Count>& table() const { return plan_.table; }
  /// The nodes of the ranks, as asked for; empty: none share a node.
  [[nodiscard]] const Placement& placement() const { return placement_; }

  [[nodiscard]] std::optional<std::pair<std::string, std::string>> counterexample() const {
    const auto found =
        interruptible([&] { return verify_plan(plan_, network_, arrivals_, placement_); });
    if (!found) return std::nullopt;
    return std::pair(std::string(found->rule), found->text);
  }

  /// Seconds when all arrive together, by the plan's cost and its work within nodes.
  [[nodiscard]] Seconds time() const {
    if (!plan_.placement.empty()) return balanced_time(plan_, network_);
    return interruptible([&] { return hockney_time(plan_.problem, cost_of(plan_), network_); });
  }

  /// Bytes of the plan, and of a rank's program, scratch and buffer of its node.
  [[nodiscard]] nb::dict memory(Rank rank) const {
    const Program program = interruptible([&] { return build_program(plan_, rank); });
    nb::dict all;
    all["plan"] = memory_of(plan_);
    all["operations"] = program.operations.size();
    all["scratch"] = program.scratch_count * plan_.problem.element_bytes;
    all["node"] = program.node_count * plan_.problem.element_bytes;
    return all;
  }

  /// Runs on the virtual network with other arrivals and another seed of the jitter than planned
  /// for, if given. `check` moves data too and counts the wrong elements. `on_links`: time 0 of the
  /// arrivals, on the clock of `links`; `nodes`: of each rank, in `links`.
  [[nodiscard]] nb::dict simulate(std::optional<Arrivals> actual, bool trace,
                                  std::optional<std::uint64_t> seed, bool check, LinkBuckets* links,
                                  const Placement& nodes, Seconds on_links) const {
    SimulationOptions options;
    options.network = network_;
    options.placement = placement_;
    if (seed) options.network.seed = *seed;
    options.arrivals = actual ? *actual : arrivals_;
    options.element_bytes = plan_.problem.element_bytes;
    options.trace = trace;
    options.links = {links, nodes, on_links};
    Executors executors;
    std::optional<CheckedMemory> memory;
    std::vector<CountedStamps> stamps;
    for (Rank rank = 0; rank < ranks() && plan_.telemetry; ++rank) {
      stamps.emplace_back(rank, ranks());
    }
    for (CountedStamps& each : stamps) options.piggybacks.push_back(&each);
    const Simulation result = interruptible([&] {
      executors = make_executors(plan_, options.network);
      if (check)
        options.memory = memory.emplace(plan_.problem, executors, options.network.seed).memory();
      return latecomer::simulate(executors, options);
    });
    if (!result.failure.empty()) throw std::runtime_error(result.failure);
    nb::list moves;
    for (const TraceEntry& entry : result.trace) {
      if (nb::len(moves) % kOperationsBetween == 0) check_signals();
      moves.append(describe(entry, executors));
    }
    nb::dict all;
    all["arrivals"] = nb::cast(result.arrivals);
    all["exits"] = nb::cast(result.exits);
    all["trace"] = moves;
    if (memory) all["wrong"] = memory->wrong();
    nb::list told;
    for (const CountedStamps& each : stamps) told.append(each.bytes());
    all["stamps"] = told;
    return all;
  }

  /// About how many operations all ranks' programs have, from the programs of some ranks.
  [[nodiscard]] Count about_operations() const {
    if (decides_while_it_runs()) return 2 * (kOfAProtocol + cost_of(plan_).rounds) * ranks();
    const Rank sampled = std::min(ranks(), kSampledRanks);
    std::size_t found = 0;
    for (Rank i = 0; i < sampled; ++i) {
      const auto rank = static_cast<Rank>(std::int64_t{i} * ranks() / sampled);
      found += interruptible([&] { return build_program(plan_, rank); }).operations.size();
    }
    return static_cast<Count>(found) * ranks() / sampled;
  }

 private:
  static constexpr Rank kSampledRanks = 16;
  static constexpr Count kOfAProtocol = 4;                 // operations of a rank beside rounds
  static constexpr std::size_t kOperationsBetween = 4096;  // checks for signals

  static nb::dict describe(const TraceEntry& entry, const Executors& executors) {
    static constexpr const char* kinds[] = {"message", "control",    "combine",
                                            "copy",    "accumulate", "flag"};
    nb::dict move;
    move["kind"] = kinds[static_cast<int>(entry.kind)];
    move["from"] = entry.from;
    move["to"] = entry.to;
    move["begin"] = entry.begin;
    move["end"] = entry.end;
    move["taken"] = entry.taken;
    if (entry.kind == TraceEntry::Kind::control) {
      const auto& executor = *executors[static_cast<std::size_t>(entry.from)];
      move["control"] = describe(executor.meaning(entry.control), entry.control.size());
      return move;
    }
    if (entry.flag >= 0) move["flag"] = entry.flag;
    if (entry.kind == TraceEntry::Kind::flag) {
      move["count"] = 0;
      move["text"] = "flag " + std::to_string(entry.flag);
      move["operation"] = entry.sender_operation;
      return move;
    }
    move["source"] = as_tuple(entry.source);
    move["target"] = as_tuple(entry.target);
    move["into"] = entry.into == Into::left ? "left" : "right";
    move["count"] = entry.source.count;
    move["text"] = text_of(entry);
    move["operation"] = entry.sender_operation;
    return move;
  }
  static nb::dict describe(const ControlMeaning& meaning, std::size_t words) {
    nb::list entries;
    for (const auto& [rank, round] : meaning.entries) entries.append(nb::make_tuple(rank, round));
    nb::dict all;
    all["name"] = meaning.name;
    all["words"] = words;
    all["rank"] = nb::cast(meaning.rank);
    all["number"] = nb::cast(meaning.number);
    all["entries"] = entries;
    return all;
  }
  /// The text of the sender's operation.
  static std::string text_of(const TraceEntry& entry) {
    static constexpr OpKind kinds[] = {OpKind::send, OpKind::send, OpKind::combine, OpKind::copy,
                                       OpKind::accumulate};
    const OpKind kind = entry.flag >= 0 ? OpKind::accumulate : kinds[static_cast<int>(entry.kind)];
    return to_text(Operation{kind, entry.to, entry.source, entry.target, entry.into, entry.flag});
  }

  Arrivals arrivals_;
  Network network_;
  Placement placement_;
  std::string asked_;
  Plan plan_;
};

Seconds processor_time() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<Seconds>(time.tv_sec) + 1e-9 * static_cast<Seconds>(time.tv_nsec);
}

/// The time that planning a call takes (evidence/planning_time.py).
class PlanningTime {
 public:
  PlanningTime(const Problem& problem, const std::string& name, Arrivals arrivals,
               const Network& network, const Placement& placement)
      : row_(find_algorithm(problem.collective, name)),
        problem_(problem),
        knowledge_{std::move(arrivals), network} {
    const Placement nodes = numbered(placement);
    check_placement(nodes, problem.ranks);
    if (shares_nodes(nodes)) knowledge_.placement = nodes;
  }

  nb::dict operator()() {
    const Seconds began = processor_time();
    for (int i = 0; i < kTries && (i == 0 || processor_time() - began < kEnough); ++i) attempt();
    replay_ /= kCalls;
    nb::dict all;
    all["plan"] = plan_;
    all["price"] = price_;
    all["program"] = row_.kind == Kind::program ? std::ranges::max(programs_) : 0;
    all["like"] = like_;
    all["replay"] = replay_;
    all["estimate"] = planning_cost(row_, problem_, knowledge_.network, knowledge_.placement);
    return all;
  }

 private:
  static constexpr int kTries = 5;
  static constexpr int kCalls = 1 + LastCalls::kMost;
  static constexpr Seconds kEnough = 0.02;

  template <class Work>
  static void take(Seconds& least, const Work& work) {
    const Seconds began = processor_time();
    work();
    least = std::min(least, processor_time() - began);
  }

  void attempt() {
    Plan plan;
    take(plan_, [&] { plan = make_plan(row_, problem_, {}, knowledge_); });
    take(price_, [&] {
      const Network& network = knowledge_.network;
      const Placement& placement = knowledge_.placement;
      const bool for_arrivals = row_.arrival_aware || row_.mean_after_last != nullptr;
      (void)(for_arrivals ? mean_after_last(plan, network, knowledge_.arrivals, placement)
                          : balanced_time(plan, network, placement));
    });
    for (std::size_t i = 0; i < programs_.size() && row_.kind == Kind::program; ++i) {
      const Rank rank = i == 0 ? problem_.root : problem_.ranks / 2;
      take(programs_[i], [&] { (void)build_program(plan, rank); });
    }
    take(replay_, [&] {
      if (knowledge_.arrivals.empty() || !replayable(plan, knowledge_.network)) return;
      const Replays replays = replays_of(plan, knowledge_.network, knowledge_.placement);
      for (int call = 0; call < kCalls; ++call) (void)replays.exits(knowledge_.arrivals);
    });
    Problem longer = problem_;
    longer.count += longer.count / 10;
    take(like_, [&] { (void)plan_like(plan, longer, {}, knowledge_); });
    if (!knowledge_.arrivals.empty()) knowledge_.arrivals[0] += 1e-3;  // some plans are remembered
  }

  const Algorithm& row_;
  Problem problem_;
  Knowledge knowledge_;
  Seconds plan_ = 1e9;
  Seconds price_ = 1e9;
  std::array<Seconds, 2> programs_ = {1e9, 1e9};  // the root's, and another one's
  Seconds like_ = 1e9;
  Seconds replay_ = 1e9;  // a call, if as many are priced together as ranks tell of
};

}  // namespace

void bind_plan(nb::module_& module) {
  module.def(
      "planning",
      [](const Problem& problem, const std::string& algorithm, const Arrivals& arrivals,
         const Network& network, const Placement& placement) {
        return PlanningTime(problem, algorithm, arrivals, network, placement)();
      },
      "problem"_a, "algorithm"_a, "arrivals"_a, "network"_a, "placement"_a = Placement{});
  nb::class_<PyPlan>(module, "Plan")
      .def(nb::init<const Problem&, const std::string&, const Arrivals&, const Network&,
                    const Placement&, bool>(),
           "problem"_a, "algorithm"_a, "arrivals"_a = Arrivals{}, "network"_a = Network{},
           "placement"_a = Placement{}, "telemetry"_a = false)
      .def_prop_ro("text", &PyPlan::text)
      .def("time", &PyPlan::time)
      .def_prop_ro("algorithm", &PyPlan::algorithm)
      .def_prop_ro("problem", &PyPlan::problem)
      .def_prop_ro("ranks", &PyPlan::ranks)
      .def_prop_ro("count", &PyPlan::count)
      .def_prop_ro("decides_while_it_runs", &PyPlan::decides_while_it_runs)
      .def_prop_ro("parameters", &PyPlan::parameters)
      .def_prop_ro("order", &PyPlan::order)
      .def_prop_ro("table", &PyPlan::table)
      .def_prop_ro("placement", &PyPlan::placement)
      .def("program_text", &PyPlan::program_text, "rank"_a)
      .def("operations", &PyPlan::operations, "rank"_a)
      .def("counterexample", &PyPlan::counterexample)
      .def("simulate", &PyPlan::simulate, "arrivals"_a = nb::none(), "trace"_a = false,
           "seed"_a = nb::none(), "check"_a = false, "links"_a = nb::none(),
           "nodes"_a = Placement{}, "on_links"_a = 0.0)
      .def("memory", &PyPlan::memory, "rank"_a)
      .def("about_operations", &PyPlan::about_operations);
}

}  // namespace latecomer
