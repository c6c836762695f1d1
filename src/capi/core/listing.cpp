#include "capi/core/listing.hpp"

#include "algorithms/registry.hpp"

namespace latecomer {
namespace {

/// The registry's texts hold no character that JSON must escape; a test checks it.
std::string quoted(std::string_view text) { return '"' + std::string(text) + '"'; }

std::string parameters(const Algorithm& row) {
  std::string list;
  for (const Parameter& parameter : row.parameters) {
    std::string choices;
    for (const std::string_view choice : parameter.choices) {
      choices += (choices.empty() ? "" : ",") + quoted(choice);
    }
    list += (list.empty() ? "{" : ",{") + std::string("\"name\":") + quoted(parameter.name) +
            ",\"meaning\":" + quoted(parameter.meaning) +
            ",\"minimum\":" + std::to_string(parameter.minimum) + ",\"choices\":[" + choices + "]}";
  }
  return '[' + list + ']';
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
            ",\"parameters\":" + parameters(row) + ",\"cost\":" + quoted(row.cost_formula) +
            ",\"source\":" + quoted(row.source) + '}';
  }
  return '[' + rows + "\n]\n";
}

}  // namespace latecomer
