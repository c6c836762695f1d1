// Rehearsals as Python sees them: series of calls of one communicator on the virtual network.
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "algorithms/registry.hpp"
#include "bindings.hpp"
#include "choose/wisdom.hpp"
#include "rehearse/rehearsal.hpp"

namespace latecomer {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

using Nodes = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Numbers = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// Messages between calls, one after the other; a column of each of their properties.
void pass_messages(LinkBuckets& buckets, const Network& network, const Nodes& from, const Nodes& to,
                   const Numbers& at, const Numbers& bytes) {
  for (const std::size_t length : {from.size(), to.size(), bytes.size()}) {
    if (length == at.size()) continue;
    throw nb::value_error(("column of messages: " + std::to_string(length) + ", not " +
                           std::to_string(at.size()) + ", as long as the times")
                              .c_str());
  }
  for (std::size_t i = 0; i < at.size(); ++i)
    buckets.pass(network, from.data()[i], to.data()[i], at.data()[i], bytes.data()[i]);
}

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
                double slower, double library_slower, std::optional<double> began,
                LinkBuckets* links, const Placement& nodes, double on_links) {
    const Rehearsal::Pace pace{slower, library_slower, began, {links, nodes, on_links}};
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

  /// The network as it was learnt, as text; "": nothing.
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

}  // namespace

void bind_rehearsal(nb::module_& module) {
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
  nb::class_<LinkBuckets>(module, "LinkBuckets")
      .def(nb::init<std::int64_t>(), "nodes"_a)
      .def("pass_messages", &pass_messages, "network"_a, "from_node"_a, "to_node"_a, "at"_a,
           "bytes"_a);
  nb::class_<PyRehearsal>(module, "Rehearsal")
      .def(nb::init<const Problem&, const std::string&, const Network&, const Network&,
                    const std::string&, bool, const Placement&, bool, const std::optional<Charges>&,
                    double, const std::string&>(),
           "problem"_a, "algorithm"_a, "network"_a, "assumed"_a, "native"_a, "check"_a = false,
           "placement"_a = Placement{}, "plain"_a = false, "charges"_a = nb::none(), "cold"_a = 1.0,
           "wisdom"_a = "")
      .def("call", &PyRehearsal::call, "arrivals"_a, "given"_a = nb::none(), "seed"_a = 1,
           "slower"_a = 1.0, "library_slower"_a = 1.0, "began"_a = nb::none(),
           "links"_a = nb::none(), "nodes"_a = Placement{}, "on_links"_a = 0.0)
      .def("change", &PyRehearsal::change, "problem"_a, "native"_a)
      .def("learnt", &PyRehearsal::learnt);
}

}  // namespace latecomer
