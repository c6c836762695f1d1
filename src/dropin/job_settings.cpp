#include "dropin/job_settings.hpp"

#include <unistd.h>

#include <algorithm>
#include <climits>
#include <exception>
#include <filesystem>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/parse.hpp"
#include "base/reproducible.hpp"
#include "dropin/fast_path.hpp"
#include "dropin/next.hpp"
#include "latecomer/latecomer.h"
#include "runtime/connection/node_sharing.hpp"
#include "runtime/connection/sleeping.hpp"
#include "runtime/progress/progress_thread.hpp"
#include "runtime/report/log.hpp"
#include "runtime/settings/environment.hpp"
#include "runtime/trace/recorder.hpp"
#include "transports/mpi/communicators.hpp"

namespace latecomer {
namespace {

constexpr const char* kMinBytes = "LATECOMER_MIN_BYTES";
constexpr const char* kTrace = "LATECOMER_TRACE";

constexpr const char* kOthers[] = {"LATECOMER_LAB",      "LATECOMER_LOG",      "LATECOMER_MPI",
                                   "LATECOMER_PROGRAMS", "LATECOMER_PROGRESS", "LATECOMER_WISDOM"};

/// The variable's value by `read`; what cannot be read is reported, and not used.
template <class Read>
void read_variable(const char* name, Read&& read) {
  const auto text = environment(name);
  if (!text) return;
  try {
    read(*text);
  } catch (const Error& error) {
    report_unused(name, error.what());
  }
}

/// Without the rules' network, which is compared with them.
std::string network(const Policy&) {
  const Network used = default_network();
  return to_string(is_used("LATECOMER_NETWORK") ? used : Network{});
}

/// The folder in one spelling, and whether messages are traced.
std::string traced(const Policy&) {
  const auto folder = environment(kTrace);
  if (!folder) return "";
  return std::filesystem::path(*folder + '/').lexically_normal().string() +
         (loader_has_messages() ? "|messages" : "");
}

/// "allreduce:ring:segments=2;bcast:auto", with all parameters.
std::string algorithms_of(const Policy& policy) {
  std::string text;
  for (const Collective each : all_collectives()) {
    const Choice& choice = policy.choice(each);
    text += (text.empty() ? "" : ";") + std::string(to_string(each)) + ':' +
            std::string(choice.algorithm->name);
    for (const auto& [name, value] : choice.parameters)
      text += ':' + name + '=' + std::to_string(value);
  }
  return text;
}

/// The value that was understood of a variable, and not how it was written.
struct Shared {
  const char* name;
  std::string (*value)(const Policy&);
  const char* beside = "";  // other causes
};

/// All that decides together about calls, and about reports that all ranks make together.
constexpr Shared kShared[] = {
    {"LATECOMER_ALGORITHM", algorithms_of},
    {"LATECOMER_REPRODUCIBLE",
     [](const Policy&) { return std::to_string(environment_flag("LATECOMER_REPRODUCIBLE")); }},
    {kMinBytes, [](const Policy&) { return std::to_string(min_bytes()); }},
    {"LATECOMER_STATS", [](const Policy&) { return environment("LATECOMER_STATS").value_or("0"); }},
    {"LATECOMER_SUMMARY",
     [](const Policy&) { return std::to_string(environment("LATECOMER_SUMMARY").has_value()); }},
    {"LATECOMER_NETWORK", network},
    {"LATECOMER_NODES", [](const Policy&) { return std::to_string(ranks_per_node()); }},
    {"LATECOMER_WAIT", [](const Policy&) { return std::to_string(asked_to_sleep()); }},
    {"LATECOMER_RULES", [](const Policy&) { return std::to_string(hash_of_default_rules()); }},
    {kTrace, traced, " (or only some ranks preload liblatecomer_preload_messages.so)"},
    {"LATECOMER_TRACE_BYTES", [](const Policy&) { return std::to_string(trace::limit_of_file()); }},
};

bool has_algorithm(Collective collective, std::string_view name) {
  const auto rows = registry(collective);
  return std::any_of(rows.begin(), rows.end(),
                     [&](const Algorithm& row) { return row.name == name; });
}

/// Sets the algorithm of each collective that has it. Throws Error if none has, or none takes its
/// parameters.
void choose_by_name(std::string_view text, Policy& policy) {
  const std::string_view name = text.substr(0, text.find(':'));
  std::exception_ptr wrong;
  bool known = false;
  for (const Collective each : all_collectives()) {
    if (!has_algorithm(each, name)) continue;
    try {
      policy.choice(each) = parse_choice(each, text);
      known = true;
    } catch (const Error&) {
      wrong = std::current_exception();
    }
  }
  if (known) return;
  if (wrong) std::rethrow_exception(wrong);
  throw Error("algorithm", std::string(name),
              "a name that `latecomer algorithms` lists, or a list as in "
              "allreduce:ring;bcast:binomial");
}

/// Reads "allreduce:ring;bcast:binomial", or a name for all collectives that have it. Either may
/// have parameters.
void read_algorithms(std::string_view text, Policy& policy) {
  for (const std::string_view entry : split(text, ';')) {
    const auto at = entry.find(':');
    const auto first = entry.substr(0, at);
    const auto is_first = [&](Collective each) { return to_string(each) == first; };
    const auto all = all_collectives();
    if (at == std::string_view::npos || std::none_of(all.begin(), all.end(), is_first)) {
      choose_by_name(entry, policy);
      continue;
    }
    const Collective collective = parse_collective(first);
    policy.choice(collective) = parse_choice(collective, entry.substr(at + 1));
  }
}

Policy policy_of_environment() {
  Policy policy;
  for (const Collective each : all_collectives()) policy.choice(each) = parse_choice(each, "auto");
  policy.online = true;
  read_variable("LATECOMER_ALGORITHM", [&](const std::string& text) {
    Policy fresh = policy;
    read_algorithms(text, fresh);
    if (environment_flag("LATECOMER_REPRODUCIBLE"))
      std::ranges::for_each(fresh.choices, check_reproducible);
    policy = std::move(fresh);
  });
  return policy;
}

/// To observe is to leave every call to the MPI library, and to make nothing for it.
Policy policy_of_observer() {
  Policy policy;
  for (const Collective each : all_collectives())
    policy.choice(each) = parse_choice(each, "native");
  for (const char* const name :
       {"LATECOMER_ALGORITHM", "LATECOMER_RULES", "LATECOMER_PROGRESS", "LATECOMER_WISDOM"}) {
    if (environment(name)) report_unused(name, "LATECOMER=observe changes no collective");
  }
  return policy;
}

/// Says which variables of this library's are unknown: a misspelled one would have no effect.
void report_unknown_variables() {
  constexpr std::string_view kPrefix = "LATECOMER_";
  for (char* const* each = environ; each != nullptr && *each != nullptr; ++each) {
    const std::string_view entry = *each;
    if (!entry.starts_with(kPrefix)) continue;
    const std::string name(entry.substr(0, entry.find('=')));
    const auto is = [&](const char* known) { return name == known; };
    if (std::ranges::none_of(kShared, is, &Shared::name) && std::ranges::none_of(kOthers, is))
      report_unused(name.c_str(), "there is no such variable");
  }
}

/// Reads what communicators would read later, so that all that is wrong is reported at once.
void read_all() {
  (void)default_network();
  (void)environment_flag("LATECOMER_REPRODUCIBLE");
  (void)progress_mode();
  (void)ranks_per_node();
  (void)trace::limit_of_file();
}

std::string name_of(ProgressMode mode) {
  if (mode == ProgressMode::thread) return "thread";
  return mode == ProgressMode::none ? "none" : "none, since MPI_THREAD_MULTIPLE is missing";
}

}  // namespace

Mode mode_of_environment() {
  const std::string wanted = environment("LATECOMER").value_or("on");
  if (wanted == "off") return Mode::off;
  if (wanted == "observe") return Mode::observe;
  if (wanted != "on") {
    report_unused("LATECOMER", Error("value", wanted, "on, observe or off").what());
  }
  return Mode::on;
}

int min_bytes() {
  int bytes = fast_path.min_bytes;
  read_variable(kMinBytes, [&](const std::string& text) {
    bytes = static_cast<int>(std::min<Count>(parse_bytes("bytes", text), INT_MAX));
  });
  return bytes;
}

Policy policy_of(Mode mode) {
  return mode == Mode::observe ? policy_of_observer() : policy_of_environment();
}

std::vector<SharedSetting> shared_settings(Mode mode, const Policy& policy) {
  std::vector<SharedSetting> all = {{"library version", fnv1a(latecomer_version())},
                                    {"LATECOMER", static_cast<std::uint64_t>(mode)}};
  for (const Shared& each : kShared)
    all.push_back({std::string(each.name) + each.beside, fnv1a(each.value(policy))});
  return all;
}

void tell_settings(const Policy& policy) {
  read_all();
  report_unknown_variables();
  const std::string level = environment("LATECOMER_LOG").value_or("warn");
  constexpr const char* kLevels[] = {"error", "warn", "info", "debug"};
  const auto is = [&](const char* known) { return level == known; };
  if (std::none_of(std::begin(kLevels), std::end(kLevels), is)) {
    report_unused("LATECOMER_LOG", Error("level", level, "error, warn, info or debug").what());
  }
  if (rank_in(MPI_COMM_WORLD) != 0 || !logs_info()) return;
  log_line(std::string("version ") + latecomer_version() + " is active on all ranks");
  const auto tell = [](const char* name, const std::string& value) {
    log_line(std::string(name) + " = " + value + (is_used(name) ? " (environment)" : " (default)"));
  };
  const auto tell_or = [&](const char* name, const char* otherwise) {
    tell(name, is_used(name) ? environment(name).value_or("") : otherwise);
  };
  tell("LATECOMER_ALGORITHM", algorithms_of(policy));
  tell("LATECOMER_MIN_BYTES", std::to_string(fast_path.min_bytes));
  tell("LATECOMER_REPRODUCIBLE", environment_flag("LATECOMER_REPRODUCIBLE") ? "1" : "0");
  tell("LATECOMER_STATS", environment("LATECOMER_STATS").value_or("0"));
  tell("LATECOMER_PROGRESS", name_of(progress_mode()));
  tell_or("LATECOMER_NODES", "all of a machine");
  tell_or("LATECOMER_WAIT", "auto");
  const auto rules = default_rules();
  tell("LATECOMER_RULES", rules ? environment("LATECOMER_RULES").value_or("") : "none");
  tell("LATECOMER_WISDOM", environment("LATECOMER_WISDOM").value_or("none"));
  if (!is_used("LATECOMER_NETWORK") && rules && rules->network) {
    log_line("LATECOMER_NETWORK = " + to_string(*rules->network) + " (rules)");
  } else {
    tell_or("LATECOMER_NETWORK", "built in");
  }
}

}  // namespace latecomer
