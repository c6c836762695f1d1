// The C API that needs no MPI: exceptions end here.
#include "capi/core/core.hpp"

#include <cstdlib>
#include <cstring>
#include <exception>

#include "algorithms/plans.hpp"
#include "base/error.hpp"
#include "base/json.hpp"
#include "latecomer/latecomer.h"
#include "simulate/simulate.hpp"

namespace latecomer {
namespace {

/// The registry's texts hold no character that JSON must escape; a test checks it.
std::string quoted(std::string_view text) { return '"' + std::string(text) + '"'; }

std::string text_of(const Parameter& parameter) {
  return "{\"name\":" + quoted(parameter.name) + ",\"meaning\":" + quoted(parameter.meaning) +
         ",\"minimum\":" + std::to_string(parameter.minimum) +
         ",\"choices\":" + json_list(parameter.choices, quoted) + '}';
}

std::string flag(bool value) { return value ? "true" : "false"; }

}  // namespace

std::string registry_as_json() {
  std::string rows;
  for (const Algorithm& row : registry()) {
    rows += (rows.empty() ? "\n{" : ",\n{") + std::string("\"name\":") + quoted(row.name) +
            ",\"collective\":" + quoted(to_string(row.collective)) +
            ",\"kind\":" + quoted(to_string(row.kind)) +
            ",\"arrival_aware\":" + flag(row.arrival_aware) +
            ",\"commutative_only\":" + flag(row.commutative_only) +
            ",\"scratch_messages\":" + std::to_string(row.scratch_messages) +
            ",\"parameters\":" + json_list(row.parameters, text_of) +
            ",\"cost\":" + quoted(row.cost_formula) + ",\"source\":" + quoted(row.source) + '}';
  }
  return '[' + rows + "\n]\n";
}

std::optional<Counterexample> verify_plan(const Plan& plan, const Network& network,
                                          const std::vector<Seconds>& arrivals,
                                          const Placement& placement) {
  if (find_algorithm(plan.problem.collective, plan.algorithm).kind != Kind::protocol) {
    return verify(plan.problem, build_programs(plan));
  }
  SimulationOptions options;
  options.network = network;
  options.arrivals = arrivals;
  options.placement = placement;
  options.element_bytes = plan.problem.element_bytes;
  const RecordedCall call = simulate_recorded(make_executors(plan, network), options);
  if (!call.simulation.failure.empty()) {
    return Counterexample{"deadlock", "on the virtual network " + call.simulation.failure};
  }
  return verify(plan.problem, call.programs);
}

}  // namespace latecomer

namespace {

// The C API that needs no MPI: exceptions end here.

using namespace latecomer;

/// Converts the arguments for the C++ layers.
struct Request {
  explicit Request(const latecomer_problem& given) : network(parse_network(text(given.network))) {
    const Collective collective = parse_collective(text(given.collective));
    const Choice choice = parse_choice(collective, text(given.algorithm));
    if (given.arrivals != nullptr && given.ranks > 0) {
      arrivals.assign(given.arrivals, given.arrivals + given.ranks);
    }
    const Problem problem{collective,          given.ranks,      given.count,
                          given.element_bytes, given.root,       given.commutative != 0,
                          given.in_place != 0, given.exact != 0, parts(given)};
    plan = make_plan(*choice.algorithm, problem, choice.parameters, {arrivals, network});
  }

  static std::vector<Count> parts(const latecomer_problem& given) {
    if (given.parts == nullptr || given.ranks < 1) return {};
    return {given.parts, given.parts + given.ranks};
  }
  static std::string text(const char* given) { return given == nullptr ? "" : given; }

  Network network;
  std::vector<Seconds> arrivals;
  Plan plan;
};

char* duplicate(const std::string& text) {
  auto* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) throw std::bad_alloc();
  std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

template <typename Pointer>
void needed(Pointer* pointer) {
  if (pointer == nullptr) throw Error("argument", "NULL", "a pointer");
}

template <typename Function>
int guarded(Function function) {
  try {
    set_last_error("");
    function();
    return 0;
  } catch (const std::exception& error) {
    return failed(error.what(), -1);
  }
}

char* in_words(const std::optional<Counterexample>& found) {
  return found ? duplicate(std::string(found->rule) + ": " + found->text) : nullptr;
}

}  // namespace

extern "C" {

const char* latecomer_version(void) { return LATECOMER_VERSION; }

const char* latecomer_last_error(void) { return last_error(); }

void latecomer_free(char* text) { std::free(text); }

int latecomer_algorithms(char** json) {
  return guarded([&] {
    needed(json);
    *json = duplicate(registry_as_json());
  });
}

int latecomer_plan(const latecomer_problem* problem, char** text) {
  return guarded([&] {
    needed(problem);
    needed(text);
    *text = duplicate(to_text(Request(*problem).plan));
  });
}

int latecomer_program(const latecomer_problem* problem, int32_t rank, char** text) {
  return guarded([&] {
    needed(problem);
    needed(text);
    const Request request(*problem);
    std::string all;
    if (rank == -1) {
      for (const Program& program : build_programs(request.plan)) all += to_text(program);
    } else {
      all = to_text(build_program(request.plan, rank));
    }
    *text = duplicate(all);
  });
}

int latecomer_verify(const latecomer_problem* problem, char** counterexample) {
  return guarded([&] {
    needed(problem);
    needed(counterexample);
    const Request request(*problem);
    *counterexample = in_words(verify_plan(request.plan, request.network, request.arrivals, {}));
  });
}

int latecomer_verify_text(const char* text, char** counterexample) {
  return guarded([&] {
    needed(text);
    needed(counterexample);
    *counterexample = in_words(verify(parse_schedule(text)));
  });
}

int latecomer_simulate(const latecomer_problem* problem, double* exits) {
  return guarded([&] {
    needed(problem);
    needed(exits);
    const Request request(*problem);
    SimulationOptions options;
    options.network = request.network;
    options.arrivals = request.arrivals;
    options.element_bytes = request.plan.problem.element_bytes;
    const Simulation result = simulate(make_executors(request.plan, options.network), options);
    if (!result.failure.empty()) throw std::runtime_error(result.failure);
    std::copy(result.exits.begin(), result.exits.end(), exits);
  });
}

}  // extern "C"
