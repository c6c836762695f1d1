#include "algorithms/plans.hpp"

#include <algorithm>
#include <cmath>

#include "algorithms/registry.hpp"
#include "algorithms/segments.hpp"
#include "base/error.hpp"
#include "base/threads.hpp"
#include "engine/engine.hpp"

namespace latecomer {
namespace {

/// Takes it out of the parameters: a plan holds it under its own name.
Progress take_progress(const Algorithm& algorithm, Parameters& parameters, bool background) {
  const auto asked = parameters.extract(std::string(kProgress));
  if (!asked.empty()) return static_cast<Progress>(asked.mapped());
  return algorithm.prefers_background() && background ? Progress::background : Progress::foreground;
}

/// Segments beyond one for each element would be empty: the plan holds the number that is used.
void cap_segments(Parameters& parameters, Count elements) {
  const auto asked = parameters.find("segments");
  if (asked != parameters.end()) asked->second = std::min(asked->second, max_segments(elements));
}

const Algorithm& row_of(const Plan& plan) {
  return find_algorithm(plan.problem.collective, plan.algorithm);
}

/// The whole program of a rank that is alone.
void keep_own(const Problem& problem, Builder& builder) {
  const Range own = problem.after(0);
  builder.copy(builder.input(own), builder.output(own));
}

/// In round k rank r tells rank r + 2^k of all ranks that it has heard of: after ceil(log2 P)
/// rounds every rank has heard of every other.
void disseminate(Rank ranks, Builder& builder) {
  for (Rank distance = 1; distance < ranks; distance *= 2) {
    builder.notify((builder.me() + distance) % ranks);
    builder.receive_notification((builder.me() - distance + ranks) % ranks);
  }
  builder.stop_piggybacking();
}

/// Throws Error for a rank that the plan does not know.
void check_rank(const Plan& plan, Rank me) {
  if (me >= 0 && me < plan.problem.ranks) return;
  throw Error("rank", std::to_string(me), "below " + std::to_string(plan.problem.ranks));
}

}  // namespace

Plan make_plan(const Algorithm& algorithm, const Problem& problem, const Parameters& parameters,
               const Knowledge& knowledge) {
  check(problem);
  if (!knowledge.arrivals.empty()) check_arrivals(knowledge.arrivals, problem.ranks);
  if (algorithm.collective != problem.collective) {
    throw Error("algorithm",
                std::string(algorithm.name) + " of " + std::string(to_string(algorithm.collective)),
                "one of " + std::string(to_string(problem.collective)));
  }
  if (algorithm.kind == Kind::native) {
    throw Error("algorithm", "native", "an algorithm that has plans");
  }
  check_accepts(algorithm, problem);
  for (const auto& [name, value] : parameters) check_parameter(algorithm, name, value);
  Plan plan;
  plan.algorithm = algorithm.name;
  plan.problem = problem;
  plan.parameters = parameters;
  cap_segments(plan.parameters, problem.count);
  const Progress progress = take_progress(algorithm, plan.parameters, knowledge.background);
  plan.progress = progress;
  if (algorithm.fill_plan != nullptr) algorithm.fill_plan(plan, knowledge);
  plan.progress = progress;  // where another row made the plan
  const bool tells = algorithm.informs_all != nullptr && algorithm.informs_all(plan);
  plan.telemetry = knowledge.telemetry && (algorithm.kind == Kind::program || tells);
  return plan;
}

Plan plan_like(const Plan& representative, const Problem& problem, const Parameters& fixed,
               const Knowledge& knowledge) {
  const Algorithm& row = find_algorithm(problem.collective, representative.algorithm);
  Parameters parameters = fixed;
  for (const Parameter& parameter : row.parameters) {
    const auto found = representative.parameters.find(parameter.name);
    if (parameter.taken_over == TakenOver::no || found == representative.parameters.end()) continue;
    Count value = found->second;
    if (parameter.taken_over == TakenOver::in_proportion) {
      const double times = static_cast<double>(problem.bytes()) /
                           std::max(1.0, static_cast<double>(representative.problem.bytes()));
      // Pieces do not get longer: they may be as long as a message may be that leaves eagerly.
      if (value > 1) value = std::llround(std::ceil(static_cast<double>(value) * times));
    }
    parameters.try_emplace(std::string(parameter.name), std::max(value, parameter.minimum));
  }
  return make_plan(row, problem, parameters, knowledge);
}

Cost cost_of(const Plan& plan) {
  return plan.problem.ranks == 1 ? Cost{} : row_of(plan).cost(plan);
}

Plan arrival_exchange_plan(const Problem& problem) {
  Plan plan;
  plan.algorithm = native_row(problem.collective).name;
  plan.problem = problem;
  plan.telemetry = true;
  return plan;
}

Program build_program(const Plan& plan, Rank me) {
  check_rank(plan, me);
  const Algorithm& algorithm = row_of(plan);
  if (algorithm.kind == Kind::protocol) {
    throw Error("algorithm", plan.algorithm,
                "one that runs a program, since this one decides while it runs");
  }
  Builder builder(plan, me);
  const bool tells = algorithm.informs_all != nullptr && algorithm.informs_all(plan);
  if (plan.telemetry && !tells) disseminate(plan.problem.ranks, builder);
  if (algorithm.kind == Kind::native) return builder.finish();
  plan.problem.ranks > 1 ? algorithm.build(plan, builder) : keep_own(plan.problem, builder);
  return builder.finish();
}

std::vector<Program> build_programs(const Plan& plan) {
  std::vector<Program> programs;
  for (Rank rank = 0; rank < plan.problem.ranks; ++rank) {
    programs.push_back(build_program(plan, rank));
  }
  return programs;
}

namespace {

constexpr Count kMostPerRank = 64;  // segments that rows give themselves, whatever the vector

void check_has_order(const Plan& plan) {
  if (!plan.order.empty()) return;
  throw Error("order", "none", "that of the ranks, for " + plan.algorithm);
}

void check_place_of_root(const Plan& plan, Rank found) {
  if (found == plan.problem.root) return;
  throw Error("order", "one that has rank " + std::to_string(found) + " in the root's place",
              "one that has rank " + std::to_string(plan.problem.root) + " there");
}

/// Throws Error unless all parameters are there (for one rank there are no factors) and the
/// segments are few enough.
void check_parameters(const Algorithm& row, const Plan& plan) {
  for (const Parameter& parameter : row.parameters) {
    const bool needed = !parameter.factors && parameter.name != "progress";
    if (needed && !plan.parameters.contains(parameter.name)) {
      throw Error("parameters of " + plan.algorithm, std::to_string(plan.parameters.size()),
                  "one more: " + std::string(parameter.name));
    }
  }
  const auto segments = plan.parameters.find("segments");
  if (segments == plan.parameters.end()) return;
  const Count most = std::max(kMostPerRank * plan.problem.ranks, max_segments(plan.problem.count));
  if (segments->second > most) {
    throw Error("segments", std::to_string(segments->second), "at most " + std::to_string(most));
  }
}

}  // namespace

void refuse_table(const Plan& plan, const std::string& remedy) {
  throw Error("table of " + plan.algorithm, std::to_string(plan.table.size()) + " numbers", remedy);
}

void check_ordered(const Plan& plan) {
  check_has_order(plan);
  if (!plan.table.empty()) refuse_table(plan, "none");
}

void check_root_first(const Plan& plan) {
  check_ordered(plan);
  check_place_of_root(plan, plan.order.front());
}

void check_root_last(const Plan& plan) {
  check_ordered(plan);
  check_place_of_root(plan, plan.order.back());
}

void check_ordered_numbers(const Plan& plan, Count least, Count most) {
  check_has_order(plan);
  const auto usable = [&](Count number) { return number >= least && number <= most; };
  if (plan.table.size() == plan.order.size() && std::ranges::all_of(plan.table, usable)) return;
  refuse_table(plan, "one a rank, from " + std::to_string(least) + " to " + std::to_string(most));
}

void check_plan(const Plan& plan) {
  const Algorithm& row = find_algorithm(plan.problem.collective, plan.algorithm);
  if (row.build == nullptr && row.executor == nullptr) {
    throw Error("algorithm", plan.algorithm, "one that has plans");
  }
  check_accepts(row, plan.problem);
  for (const auto& [name, value] : plan.parameters) check_parameter(row, name, value);
  check_parameters(row, plan);
  if (row.check != nullptr) return row.check(plan);
  if (!plan.order.empty()) throw Error("order", "one", "none, for " + plan.algorithm);
  if (!plan.table.empty()) refuse_table(plan, "none");
}

std::unique_ptr<Executor> make_executor(const Plan& plan, Rank me, Count eager) {
  interruption_point();
  const Algorithm& row = find_algorithm(plan.problem.collective, plan.algorithm);
  if (row.kind != Kind::protocol) {
    return std::make_unique<ProgramExecutor>(build_program(plan, me), eager);
  }
  check_rank(plan, me);
  return row.executor(plan, me);
}

Executors make_executors(const Plan& plan, const Network& network) {
  const Count eager = network.eager_elements(plan.problem.element_bytes);
  Executors executors;
  for (Rank rank = 0; rank < plan.problem.ranks; ++rank) {
    executors.push_back(make_executor(plan, rank, eager));
  }
  return executors;
}

}  // namespace latecomer
