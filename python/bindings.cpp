// latecomer._core: the C++ core as Python sees it. Plain values in, dictionaries and lists out;
// python/latecomer wraps them.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>

#include "algorithms/plans.hpp"
#include "algorithms/registry.hpp"
#include "base/error.hpp"
#include "base/parse.hpp"
#include "base/threads.hpp"
#include "bind_forecast.hpp"
#include "bind_origin.hpp"
#include "bind_trace.hpp"
#include "bounds/lower_bound.hpp"
#include "capi/core/core.hpp"
#include "choose/wisdom.hpp"
#include "latecomer/latecomer.h"
#include "price/candidates.hpp"
#include "price/price.hpp"
#include "rehearse/rehearsal.hpp"
#include "rules/rules.hpp"
#include "simulate/elements.hpp"
#include "simulate/simulate.hpp"
#include "telemetry/watch.hpp"
#include "verify/verify.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using namespace latecomer;
using Arrivals = std::vector<Seconds>;

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

/// Ends the core's work with the exception of a signal's handler, such as KeyboardInterrupt.
void check_signals() {
  const nb::gil_scoped_acquire python;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

/// What may take long: it hears signals, and Python's other threads run meanwhile.
template <typename Work>
auto interruptible(Work&& work) {
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kBetween(50);
  auto next = Clock::now() + kBetween;
  const Interruptible signals([&next] {
    if (Clock::now() < next) return;
    check_signals();
    next = Clock::now() + kBetween;
  });
  const nb::gil_scoped_release others_run;
  return work();
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
  /// for, if given. `check` moves data too and counts the wrong elements.
  [[nodiscard]] nb::dict simulate(std::optional<Arrivals> actual, bool trace,
                                  std::optional<std::uint64_t> seed, bool check) const {
    SimulationOptions options;
    options.network = network_;
    options.placement = placement_;
    if (seed) options.network.seed = *seed;
    options.arrivals = actual ? *actual : arrivals_;
    options.element_bytes = plan_.problem.element_bytes;
    options.trace = trace;
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

/// A series of calls of one communicator on the virtual network.
class PyRehearsal {
 public:
  PyRehearsal(const Problem& problem, const std::string& algorithm, const Network& network,
              const Network& assumed, const std::string& native, bool check,
              const Placement& placement, bool plain, const std::optional<Charges>& charges,
              double cold, const std::string& wisdom)
      : rehearsal_(interruptible([&] {
          Rehearsal::Setting all =
              setting(problem, algorithm, native, network, assumed, check, placement);
          all.plain = plain;
          all.charges = charges;
          all.cold = cold;
          if (!wisdom.empty()) all.wisdom = parse_network_belief("wisdom", wisdom);
          return Rehearsal(std::move(all));
        })) {}

  nb::dict call(const Arrivals& arrivals, std::optional<Arrivals> given, std::uint64_t seed,
                double slower, double library_slower) {
    const Rehearsal::Pace pace{slower, library_slower};
    const Rehearsal::Call call = interruptible(
        [&] { return rehearsal_.call(arrivals, given ? &*given : nullptr, seed, pace); });
    nb::dict all;
    all["algorithm"] = call.algorithm;
    all["parameters"] = call.parameters;
    all["wrong"] = nb::cast(call.wrong);
    all["expected"] = nb::cast(call.expected);
    all["exits"] = nb::cast(call.exits);
    all["finding_out"] = call.finding_out;
    return all;
  }

  void change(const Problem& problem, const std::string& native) {
    interruptible([&] {
      rehearsal_.change(problem, native_choice(problem, native));
      return true;
    });
  }

  /// What was learnt of the network, as text; "": nothing.
  [[nodiscard]] std::string learnt() const {
    const auto learnt = rehearsal_.network_learnt();
    return learnt ? to_string(*learnt) : "";
  }

 private:
  static std::optional<Choice> native_choice(const Problem& problem, const std::string& native) {
    if (native.empty()) return std::nullopt;
    return parse_choice(problem.collective, native);
  }

  static Rehearsal::Setting setting(const Problem& problem, const std::string& algorithm,
                                    const std::string& native, const Network& network,
                                    const Network& assumed, bool check,
                                    const Placement& placement) {
    return {problem,
            parse_choice(problem.collective, algorithm),
            native_choice(problem, native),
            network,
            assumed,
            check,
            numbered(placement)};
  }

  Rehearsal rehearsal_;
};

nb::list rule_list() {
  nb::list all;
  for (const Rule& rule : rules()) {
    all.append(nb::make_tuple(std::string(rule.name), std::string(rule.meaning)));
  }
  return all;
}

std::optional<std::pair<std::string, std::string>> verify_text(const std::string& text) {
  const auto found = interruptible([&] {
    const Schedule schedule = parse_schedule(text);
    return verify(schedule.plan.problem, schedule.programs);
  });
  if (!found) return std::nullopt;
  return std::pair(std::string(found->rule), found->text);
}

using Stretch = std::pair<Count, Count>;  // begin, count
Stretch stretch(Range range) { return {range.begin, range.count}; }

Seconds bound(const Problem& problem, const Arrivals& arrivals, const Network& network,
              bool background) {
  if (!arrivals.empty() && arrivals.size() != static_cast<std::size_t>(problem.ranks)) {
    throw Error("arrivals", std::to_string(arrivals.size()) + " times",
                "one time for each of " + std::to_string(problem.ranks) + " ranks");
  }
  return interruptible([&] {
    return least_after_last(problem, arrivals, network,
                            background ? Progress::background : Progress::foreground);
  });
}

/// Throws if the text names no algorithm of the collective or wrong parameters; returns its name.
std::string check_choice(const std::string& collective, const std::string& text) {
  return std::string(parse_choice(parse_collective(collective), text).algorithm->name);
}

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
    if (shares_nodes(placement)) knowledge_.placement = placement;
  }

  nb::dict operator()() {
    const Seconds began = processor_time();
    for (int i = 0; i < kTries && (i == 0 || processor_time() - began < kEnough); ++i) attempt();
    nb::dict all;
    all["plan"] = plan_;
    all["price"] = price_;
    all["program"] = row_.kind == Kind::program ? std::ranges::max(programs_) : 0;
    all["like"] = like_;
    all["estimate"] = planning_cost(row_, problem_, knowledge_.network, knowledge_.placement);
    return all;
  }

 private:
  static constexpr int kTries = 5;
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
};

bool accepts_operator(const std::string& collective, const std::string& text, bool commutative) {
  Problem problem;
  problem.collective = parse_collective(collective);
  problem.commutative = commutative;
  return accepts(*parse_choice(problem.collective, text).algorithm, problem, nullptr);
}

}  // namespace

void bind_network(nb::module_& module) {
  nb::class_<Network>(module, "Network")
      .def(
          "__init__",
          [](Network* self, const std::string& text) { new (self) Network(parse_network(text)); },
          "text"_a = "")
      .def_prop_ro("text", [](const Network& n) { return to_string(n); })
      .def_ro("alpha", &Network::alpha)
      .def_ro("beta", &Network::beta)
      .def_ro("gamma", &Network::gamma)
      .def_ro("eager_limit", &Network::eager_limit)
      .def_ro("buffer", &Network::buffer)
      .def_ro("handshake", &Network::handshake)
      .def_ro("ports", &Network::ports)
      .def_ro("exchange", &Network::exchange)
      .def_ro("per_node", &Network::per_node)
      .def_ro("local_alpha", &Network::local_alpha)
      .def_ro("local_beta", &Network::local_beta)
      .def_ro("memory", &Network::memory)
      .def_ro("burst", &Network::burst)
      .def_ro("jitter", &Network::jitter)
      .def_ro("seed", &Network::seed)
      .def(
          "with_per_node",
          [](Network network, Rank ranks) {
            network.per_node = ranks;
            return network;
          },
          "ranks"_a)
      .def("__repr__", [](const Network& n) { return "Network('" + to_string(n) + "')"; })
      .def(
          "__eq__", [](const Network& n, const Network& other) { return n == other; },
          nb::is_operator(), nb::sig("def __eq__(self, other: object, /) -> bool"));
}

/// A user's rules (rules/rules.hpp).
class PyRules {
 public:
  PyRules(const std::string& text, const std::string& name) : rules_(read_rules(text, name)) {}

  /// The entries and rules of a collective.
  [[nodiscard]] std::pair<std::size_t, std::size_t> count(const std::string& collective) const {
    const auto& entries = rules_[parse_collective(collective)];
    std::size_t rules = 0;
    for (const CommRules& each : entries) rules += each.rules.size();
    return {entries.size(), rules};
  }
  [[nodiscard]] std::optional<Network> network() const { return rules_.network; }
  /// The line of the rule that serves the call; 0: none does. `placement`: empty if not known, of
  /// one node a rank where no ranks share one.
  [[nodiscard]] int find(const Problem& problem, const Arrivals& arrivals, const Network& network,
                         const std::optional<Placement>& placement) const {
    const UserRule* const rule = find_rule(rules_, problem, facts(arrivals, network, placement));
    return rule != nullptr ? rule->line : 0;
  }
  /// The entries and rules that are looked at, as (line, is a rule, obstacle, algorithm).
  [[nodiscard]] nb::list consider(const Problem& problem, const Arrivals& arrivals,
                                  const Network& network,
                                  const std::optional<Placement>& placement) const {
    nb::list all;
    for (const Considered& each :
         latecomer::consider(rules_, problem, facts(arrivals, network, placement))) {
      std::string algorithm;
      if (each.rule != nullptr) algorithm = each.rule->text;
      all.append(nb::make_tuple(each.line, each.rule != nullptr, each.obstacle, algorithm));
    }
    return all;
  }

 private:
  static RuleFacts facts(const Arrivals& arrivals, const Network& network,
                         const std::optional<Placement>& placement) {
    return {arrivals, placement ? &*placement : nullptr, &network};
  }

  UserRules rules_;
};

void bind_rules(nb::module_& module) {
  nb::class_<PyRules>(module, "UserRules")
      .def(nb::init<const std::string&, const std::string&>(), "text"_a, "name"_a)
      .def("count", &PyRules::count, "collective"_a)
      .def_prop_ro("network", &PyRules::network)
      .def("find", &PyRules::find, "problem"_a, "arrivals"_a, "network"_a,
           "placement"_a = nb::none())
      .def("consider", &PyRules::consider, "problem"_a, "arrivals"_a, "network"_a,
           "placement"_a = nb::none());
}

NB_MODULE(_core, module) {
  // Errors of the core are ValueError in Python: they name a value and what would be right.
  nb::register_exception_translator([](const std::exception_ptr& pointer, void*) {
    try {
      std::rethrow_exception(pointer);
    } catch (const Error& error) {
      PyErr_SetString(PyExc_ValueError, error.what());
    }
  });
  module.attr("version") = latecomer_version();
  bind_network(module);
  bind_rules(module);
  module.def("registry_json", registry_as_json);
  module.def("rules", rule_list);
  module.def("verify_text", verify_text, "text"_a);
  module.def("check_choice", check_choice, "collective"_a, "text"_a);
  module.def(
      "planning",
      [](const Problem& problem, const std::string& algorithm, const Arrivals& arrivals,
         const Network& network, const Placement& placement) {
        return PlanningTime(problem, algorithm, arrivals, network, placement)();
      },
      "problem"_a, "algorithm"_a, "arrivals"_a, "network"_a, "placement"_a = Placement{});
  module.def(
      "parse_placement",
      [](const std::string& text, Rank ranks) { return parse_placement(text, ranks); }, "text"_a,
      "ranks"_a);
  module.def("consecutive_placement", consecutive_placement, "ranks"_a, "per_node"_a);
  module.def("accepts_operator", accepts_operator, "collective"_a, "text"_a, "commutative"_a);
  module.def(
      "check_wisdom",
      [](const std::string& text, const std::string& what) { (void)Wisdom(text, what); }, "text"_a,
      "what"_a);
  module.def("parse_bytes", [](const std::string& what, const std::string& text) {
    return parse_bytes(what, text);
  });
  module.def("parse_count", [](const std::string& what, const std::string& text) {
    return parse_count(what, text);
  });
  module.def("parse_seconds", [](const std::string& what, const std::string& text) {
    return parse_seconds(what, text);
  });
  nb::class_<Problem>(module, "Problem")
      .def(
          "__init__",
          [](Problem* self, const std::string& collective, Rank ranks, Count count,
             Count element_bytes, Rank root, bool commutative, bool in_place, bool exact,
             const std::vector<Count>& parts) {
            const Problem problem{parse_collective(collective),
                                  ranks,
                                  count,
                                  element_bytes,
                                  root,
                                  commutative,
                                  in_place,
                                  exact,
                                  parts};
            check(problem);
            new (self) Problem(problem);
          },
          "collective"_a, nb::kw_only(), "ranks"_a, "count"_a, "element_bytes"_a = 4, "root"_a = 0,
          "commutative"_a = true, "in_place"_a = false, "exact"_a = false,
          "parts"_a = std::vector<Count>{})
      .def_prop_ro("collective",
                   [](const Problem& p) { return std::string(to_string(p.collective)); })
      .def_ro("ranks", &Problem::ranks)
      .def_ro("count", &Problem::count)
      .def_ro("element_bytes", &Problem::element_bytes)
      .def_ro("root", &Problem::root)
      .def_ro("commutative", &Problem::commutative)
      .def_ro("in_place", &Problem::in_place)
      .def_ro("exact", &Problem::exact)
      .def_ro("parts", &Problem::parts)
      .def(
          "before", [](const Problem& p, Rank rank) { return stretch(p.before(rank)); }, "rank"_a)
      .def(
          "input", [](const Problem& p, Rank rank) { return stretch(p.input(rank)); }, "rank"_a)
      .def("output", [](const Problem& p, Rank rank) { return stretch(p.output(rank)); }, "rank"_a);
  module.def("collectives", [] {
    nb::list all;
    for (const Collective each : all_collectives()) {
      all.append(
          nb::make_tuple(std::string(to_string(each)), combines(each), rooted(each), parted(each)));
    }
    return all;
  });
  module.def("least_after_last", bound, "problem"_a, "arrivals"_a, "network"_a,
             "background"_a = false);
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
           "seed"_a = nb::none(), "check"_a = false)
      .def("memory", &PyPlan::memory, "rank"_a)
      .def("about_operations", &PyPlan::about_operations);
  using SecondsByRow = std::map<std::string, Seconds, std::less<>>;
  nb::class_<Charges>(module, "Charges")
      .def(
          "__init__",
          [](Charges* self, Seconds connect, Seconds look, const SecondsByRow& plan,
             Seconds other_plan, const SecondsByRow& price, Seconds other_price) {
            new (self) Charges{connect, look, {plan, other_plan}, {price, other_price}};
          },
          nb::kw_only(), "connect"_a, "look"_a, "plan"_a, "other_plan"_a, "price"_a,
          "other_price"_a);
  nb::class_<PyRehearsal>(module, "Rehearsal")
      .def(nb::init<const Problem&, const std::string&, const Network&, const Network&,
                    const std::string&, bool, const Placement&, bool, const std::optional<Charges>&,
                    double, const std::string&>(),
           "problem"_a, "algorithm"_a, "network"_a, "assumed"_a, "native"_a, "check"_a = false,
           "placement"_a = Placement{}, "plain"_a = false, "charges"_a = nb::none(), "cold"_a = 1.0,
           "wisdom"_a = "")
      .def("call", &PyRehearsal::call, "arrivals"_a, "given"_a = nb::none(), "seed"_a = 1,
           "slower"_a = 1.0, "library_slower"_a = 1.0)
      .def("change", &PyRehearsal::change, "problem"_a, "native"_a)
      .def("learnt", &PyRehearsal::learnt);
  bind_forecast(module);
  bind_origin(module);
  bind_trace(module);
}
