#include "runtime/settings/default_rules.hpp"

#include <optional>
#include <string>

#include "base/error.hpp"
#include "base/reproducible.hpp"
#include "rules/rules.hpp"
#include "runtime/settings/environment.hpp"
#include "runtime/settings/small_file.hpp"

namespace latecomer {
namespace {

constexpr const char* kRulesVariable = "LATECOMER_RULES";

/// The file as this process has read it: what is compared is what is used.
struct RulesFile {
  std::string name;  // "": the variable is not set
  std::string text;
  std::string obstacle;  // why it cannot be read
};

RulesFile read_file() {
  RulesFile file{environment(kRulesVariable).value_or(""), "", ""};
  if (file.name.empty()) return file;
  try {
    file.text = read_small_file("rules file", from_first_folder(file.name), kMaxRulesBytes);
  } catch (const Error& error) {
    file.obstacle = error.what();
  }
  return file;
}

const RulesFile& rules_file() {
  static const auto& file = *new RulesFile(read_file());
  return file;
}

std::shared_ptr<const UserRules> parse() {
  const RulesFile& file = rules_file();
  if (file.name.empty()) return nullptr;
  std::string why = file.obstacle;
  if (why.empty()) {
    try {
      return std::make_shared<const UserRules>(read_rules(file.text, "rules file " + file.name));
    } catch (const Error& error) {
      why = error.what();
    }
  }
  report_unused(kRulesVariable, why);
  return nullptr;
}

}  // namespace

std::shared_ptr<const UserRules> default_rules() {
  static const auto& rules = *new std::shared_ptr<const UserRules>(parse());
  return rules;
}

std::uint64_t hash_of_default_rules() {
  const RulesFile& file = rules_file();
  if (file.name.empty()) return 0;
  return fnv1a(file.obstacle.empty() ? "text" + file.text : "no text");
}

}  // namespace latecomer
