#include "algorithms/registry.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "algorithms/row.hpp"
#include "base/error.hpp"
#include "base/parse.hpp"
#include "patterns/pipeline.hpp"

namespace latecomer {
namespace {

const Parameter& find_parameter(const Algorithm& algorithm, std::string_view name) {
  std::string known;
  for (const Parameter& parameter : algorithm.parameters) {
    if (parameter.name == name) return parameter;
    known += (known.empty() ? "" : ", ") + std::string(parameter.name);
  }
  throw Error("parameter of " + std::string(algorithm.name), std::string(name),
              known.empty() ? "none, it has no parameters" : "one of " + known);
}

constexpr std::string_view kProgress = "progress";

/// True if the row's plans let a progress thread run ahead of the arrival unless the user asks for
/// something else.
bool prefers_background(const Algorithm& row) { return row.arrival_aware || row.runs_ahead; }

Parameter progress_parameter(const Algorithm& row) {
  return {kProgress,
          prefers_background(row)
              ? "whether a thread may run ahead of the arrival; default background "
                "where all ranks have a progress thread"
              : "whether a thread may run ahead of the arrival; default foreground",
          0,
          {"foreground", "background"}};
}

/// Takes it out of the parameters: a plan holds it under its own name.
Progress take_progress(const Algorithm& algorithm, Parameters& parameters, bool background) {
  const auto asked = parameters.extract(std::string(kProgress));
  if (!asked.empty()) return static_cast<Progress>(asked.mapped());
  return prefers_background(algorithm) && background ? Progress::background : Progress::foreground;
}

Count parse_value(const Parameter& parameter, std::string_view text) {
  if (parameter.choices.empty()) return parse_count(parameter.name, text, parameter.minimum);
  std::string known;
  for (std::size_t i = 0; i < parameter.choices.size(); ++i) {
    if (parameter.choices[i] == text) return static_cast<Count>(i);
    known += (i == 0 ? "" : " or ") + std::string(parameter.choices[i]);
  }
  const bool digit = !text.empty() && text.front() >= '0' && text.front() <= '9';
  if (parameter.factors && digit) return encode_factors(parse_factors(parameter.name, text));
  if (parameter.factors) known += ", or factors such as 12x2x2";
  throw Error(std::string(parameter.name), std::string(text), known);
}

std::string value_text(const Parameter& parameter, Count value) {
  if (parameter.choices.empty()) return std::to_string(value);
  if (parameter.factors && value >= kFirstFactors) return factors_text(decode_factors(value));
  return std::string(parameter.choices[static_cast<std::size_t>(value)]);
}

/// Segments beyond one for each element would be empty: the plan holds the number that is used.
void cap_segments(Parameters& parameters, Count elements) {
  const auto asked = parameters.find("segments");
  if (asked != parameters.end()) asked->second = std::min(asked->second, max_segments(elements));
}

void check_arrivals(const Problem& problem, const Knowledge& knowledge) {
  if (knowledge.arrivals.empty()) return;
  if (knowledge.arrivals.size() != static_cast<std::size_t>(problem.ranks)) {
    throw Error("arrivals", std::to_string(knowledge.arrivals.size()) + " times",
                "one time for each of " + std::to_string(problem.ranks) + " ranks");
  }
  for (const Seconds arrival : knowledge.arrivals) {
    if (!(arrival >= -1e18 && arrival <= 1e18)) {
      throw Error("arrival", format_number(arrival), "a finite time in seconds");
    }
  }
}

std::string names_of(Collective collective) {
  std::string names;
  for (const Algorithm& row : registry(collective)) {
    names += (names.empty() ? "" : ", ") + std::string(row.name);
  }
  return names;
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

void check_row(const Algorithm& row) {
  const auto demand = [&](bool there, std::string_view member) {
    if (there) return;
    throw Error("row of " + std::string(to_string(row.collective)), std::string(row.name),
                "one with " + std::string(member));
  };
  demand((row.build != nullptr) != (row.executor != nullptr), "either `build` or `executor`");
  demand(row.cost != nullptr, "`cost`");
  demand(!row.cost_formula.empty(), "`cost_formula`");
  demand(!row.source.empty(), "`source`");
}

Algorithm finished(const DeclaredRow& declared, Collective collective) {
  Algorithm row = declared.row();
  row.name = declared.name;
  row.collective = collective;
  check_row(row);
  row.kind = row.executor == nullptr ? Kind::program : Kind::protocol;
  if (row.kind == Kind::program || row.runs_ahead)
    row.parameters.push_back(progress_parameter(row));
  return row;
}

/// Gives each parameter that names programs its choices. The rows are sorted.
void name_programs(std::vector<Algorithm>& rows) {
  for (Algorithm& row : rows) {
    for (Parameter& parameter : row.parameters) {
      if (!parameter.names_programs) continue;
      for (const Algorithm& each : rows) {
        if (each.collective != row.collective || !each.is_program()) continue;
        parameter.choices.push_back(each.name);
      }
    }
  }
}

/// The row of each collective that has the property.
template <class Is>
std::array<const Algorithm*, kCollectives> rows_that(const Is& is) {
  std::array<const Algorithm*, kCollectives> rows{};
  for (const Algorithm& row : registry()) {
    if (is(row)) rows[static_cast<std::size_t>(row.collective)] = &row;
  }
  return rows;
}

Algorithm native(Collective collective) {
  return {.name = "native",
          .collective = collective,
          .kind = Kind::native,
          .scratch_messages = 0,
          .cost_formula = "the MPI library's",
          .source = "the MPI library",
          .cost = nullptr};
}

}  // namespace

std::string_view to_string(Kind kind) {
  switch (kind) {
    case Kind::program:
      return "program";
    case Kind::protocol:
      return "protocol";
    case Kind::native:
      return "native";
  }
  return "unknown";
}

std::vector<Algorithm> make_rows(std::span<const DeclaredRow> declared) {
  std::vector<Algorithm> rows;
  for (const Collective collective : all_collectives()) rows.push_back(native(collective));
  for (const DeclaredRow& each : declared) {
    if (each.collective != "every") {
      rows.push_back(finished(each, parse_collective(each.collective)));
      continue;
    }
    for (const Collective collective : all_collectives()) {
      rows.push_back(finished(each, collective));
    }
  }
  const auto key = [](const Algorithm& row) { return std::pair(row.collective, row.name); };
  std::ranges::sort(rows, {}, key);
  const auto twice = std::ranges::adjacent_find(rows, {}, key);
  if (twice != rows.end()) {
    throw Error("row of " + std::string(to_string(twice->collective)), std::string(twice->name),
                "one with a name of its own, since there are two");
  }
  name_programs(rows);
  return rows;
}

std::span<const Algorithm> registry() {
  // Not destroyed: calls may come after static objects.
  static const auto& rows = *new std::vector<Algorithm>(make_rows(declared_rows()));
  return rows;
}

std::span<const Algorithm> registry(Collective collective) {
  const auto all = registry();
  const auto [first, last] = std::ranges::equal_range(all, collective, {}, &Algorithm::collective);
  return {first, last};
}

const Algorithm& find_algorithm(Collective collective, std::string_view name) {
  for (const Algorithm& row : registry(collective)) {
    if (row.name == name) return row;
  }
  throw Error("algorithm", std::string(name), "one of " + names_of(collective));
}

const Algorithm& native_row(Collective collective) {
  static const auto rows = rows_that([](const Algorithm& row) { return row.kind == Kind::native; });
  return *rows[static_cast<std::size_t>(collective)];
}

const Algorithm& fastest_row(Collective collective) {
  static const auto rows =
      rows_that([](const Algorithm& row) { return row.stands_for_others && !row.arrival_aware; });
  return *rows[static_cast<std::size_t>(collective)];
}

bool accepts(const Algorithm& algorithm, const Problem& problem, std::string* why) {
  if (!algorithm.commutative_only || problem.commutative) return true;
  if (why != nullptr) *why = std::string(algorithm.name) + " needs a commutative operator";
  return false;
}

void check_parameter(const Algorithm& algorithm, std::string_view name, Count value) {
  const Parameter& parameter = find_parameter(algorithm, name);
  const auto choices = static_cast<Count>(parameter.choices.size());
  if (parameter.factors && value >= kFirstFactors) return;  // the algorithm checks them
  if (value < parameter.minimum || (choices > 0 && value >= choices)) {
    throw Error(std::string(name) + " of " + std::string(algorithm.name), std::to_string(value),
                "a number from " + std::to_string(parameter.minimum) + " up");
  }
}

void check_accepts(const Algorithm& algorithm, const Problem& problem) {
  std::string why;
  if (accepts(algorithm, problem, &why)) return;
  throw Error("operator", "not commutative", "a commutative one, since " + why);
}

Plan make_plan(const Algorithm& algorithm, const Problem& problem, const Parameters& parameters,
               const Knowledge& knowledge) {
  check(problem);
  check_arrivals(problem, knowledge);
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

void check_rank(const Plan& plan, Rank me) {
  if (me >= 0 && me < plan.problem.ranks) return;
  throw Error("rank", std::to_string(me), "below " + std::to_string(plan.problem.ranks));
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

Choice parse_choice(Collective collective, std::string_view text) {
  const auto parts = split(text, ':');
  Choice choice{&find_algorithm(collective, parts.front()), {}};
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const auto at = parts[i].find('=');
    if (at == std::string_view::npos) {
      const auto& known = choice.algorithm->parameters;
      const std::string name(known.empty() ? "" : known.front().name);
      throw Error("parameter of " + std::string(parts[0]), std::string(parts[i]),
                  name.empty() ? "none, it has no parameters" : "name=value, as in " + name + "=4");
    }
    const Parameter& parameter = find_parameter(*choice.algorithm, parts[i].substr(0, at));
    const Count value = parse_value(parameter, parts[i].substr(at + 1));
    check_parameter(*choice.algorithm, parameter.name, value);
    if (!choice.parameters.emplace(parameter.name, value).second) {
      throw Error("parameter " + std::string(parameter.name), std::string(text), "given once");
    }
  }
  return choice;
}

Count seed_of(const Choice& choice) {
  const auto seed = choice.parameters.find(kRandom);
  return seed == choice.parameters.end() ? 0 : seed->second;
}

std::string describe_parameters(const Plan& plan, std::string_view asked) {
  const Algorithm& algorithm = row_of(plan);
  std::string text = asked.empty() || asked == plan.algorithm ? "" : "as=" + plan.algorithm;
  for (const auto& [name, value] : plan.parameters) {
    text +=
        (text.empty() ? "" : " ") + name + '=' + value_text(find_parameter(algorithm, name), value);
  }
  if (plan.progress == Progress::background) {
    text += std::string(text.empty() ? "" : " ") + std::string(kProgress) + "=background";
  }
  return text;
}

}  // namespace latecomer
