// latecomer._core: the C++ core as Python sees it. Plain values in, dictionaries and lists out;
// python/latecomer wraps them.
#include "bindings.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "algorithms/registry.hpp"
#include "base/error.hpp"
#include "base/parse.hpp"
#include "bounds/lower_bound.hpp"
#include "capi/core/core.hpp"
#include "choose/wisdom.hpp"
#include "latecomer/latecomer.h"
#include "rules/rules.hpp"
#include "verify/verify.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using namespace latecomer;

nb::list rule_list() {
  nb::list all;
  for (const Rule& rule : rules()) {
    all.append(nb::make_tuple(std::string(rule.name), std::string(rule.meaning)));
  }
  return all;
}

std::optional<std::pair<std::string, std::string>> verify_text(const std::string& text) {
  const auto found = interruptible([&] { return verify(parse_schedule(text)); });
  if (!found) return std::nullopt;
  return std::pair(std::string(found->rule), found->text);
}

using Stretch = std::pair<Count, Count>;  // begin, count
Stretch stretch(Range range) { return {range.begin, range.count}; }

Seconds bound(const Problem& problem, const Arrivals& arrivals, const Network& network,
              bool background) {
  if (!arrivals.empty()) check_arrivals(arrivals, problem.ranks);
  return interruptible([&] {
    return least_after_last(problem, arrivals, network,
                            background ? Progress::background : Progress::foreground);
  });
}

/// Throws if the text names no algorithm of the collective or wrong parameters; returns its name.
std::string check_choice(const std::string& collective, const std::string& text) {
  return std::string(parse_choice(parse_collective(collective), text).algorithm->name);
}

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
    const std::optional<Placement> nodes = checked(problem, arrivals, placement);
    const UserRule* const rule = find_rule(rules_, problem, facts(arrivals, network, nodes));
    return rule != nullptr ? rule->line : 0;
  }
  /// The entries and rules that are looked at, as (line, is a rule, obstacle, algorithm).
  [[nodiscard]] nb::list consider(const Problem& problem, const Arrivals& arrivals,
                                  const Network& network,
                                  const std::optional<Placement>& placement) const {
    const std::optional<Placement> nodes = checked(problem, arrivals, placement);
    nb::list all;
    for (const Considered& each :
         latecomer::consider(rules_, problem, facts(arrivals, network, nodes))) {
      std::string algorithm;
      if (each.rule != nullptr) algorithm = each.rule->text;
      all.append(nb::make_tuple(each.line, each.rule != nullptr, each.obstacle, algorithm));
    }
    return all;
  }

 private:
  static std::optional<Placement> checked(const Problem& problem, const Arrivals& arrivals,
                                          const std::optional<Placement>& placement) {
    if (!arrivals.empty()) check_arrivals(arrivals, problem.ranks);
    if (!placement) return std::nullopt;
    Placement nodes = numbered(*placement);
    check_placement(nodes, problem.ranks);
    return nodes;
  }
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
  bind_plan(module);
  bind_rehearsal(module);
  bind_forecast(module);
  bind_origin(module);
  bind_trace(module);
}
