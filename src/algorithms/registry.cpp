#include "algorithms/registry.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.hpp"
#include "base/parse.hpp"

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

Parameter progress_parameter(const Algorithm& row) {
  return {kProgress,
          row.prefers_background()
              ? "whether a thread may run ahead of the arrival; default background "
                "where all ranks have a progress thread"
              : "whether a thread may run ahead of the arrival; default foreground",
          0,
          {"foreground", "background"}};
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

std::string names_of(Collective collective) {
  std::string names;
  for (const Algorithm& row : registry(collective)) {
    names += (names.empty() ? "" : ", ") + std::string(row.name);
  }
  return names;
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
  const Algorithm& algorithm = find_algorithm(plan.problem.collective, plan.algorithm);
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
