#include "runtime/report/stats_report.hpp"

#include <dlfcn.h>

#include <algorithm>

#include "base/json.hpp"
#include "base/parse.hpp"
#include "base/text.hpp"
#include "latecomer/latecomer.h"
#include "runtime/report/log.hpp"
#include "runtime/report/statistics.hpp"
#include "runtime/settings/environment.hpp"

namespace latecomer {
namespace {

using Row = std::vector<std::string>;

constexpr const char* kFloats =
    "Sums of floating-point numbers may differ in their last bits from run to run; "
    "LATECOMER_REPRODUCIBLE=1, or latecomer run --reproducible, prevents that.\n";
constexpr const char* kDefinitions =
    "inside: from this rank's arrival in a call to its exit.\n"
    "told: calls whose arrivals all ranks know. Of these, waiting: from this rank's arrival to the "
    "last one before its exit; moving: from then to its exit.\n"
    "handled: by latecomer. fallback: by the MPI library for another reason than these. ";

/// Whose the calls were that count as native.
std::string about_native(const ProcessStats& stats) {
  if (stats.job && stats.job->observes) {
    return "native: by the MPI library, as LATECOMER=observe asked for.\n";
  }
  const auto named = environment("LATECOMER_ALGORITHM");
  if (!named || *named == "auto") return "native: by the MPI library, which was chosen.\n";
  return "native: by the MPI library, which was asked for, or chosen where the algorithm is "
         "auto.\n";
}

std::string seconds(Seconds value) { return format_fixed(value, 6); }

/// Columns as wide as their longest entry; the first and the last are left-aligned.
std::string table(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    text += "  ";
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string space(widths[i] - row[i].size(), ' ');
      const bool last = i + 1 == row.size();
      text += (i == 0 ? row[i] + space : last ? row[i] : space + row[i]) + (last ? "\n" : "  ");
    }
  }
  return text;
}

/// The counters that are not 0: "25 handled, 1 fallback_trivial".
std::string counted(const latecomer_stats& calls) {
  std::string text;
  for (const Counter& counter : counters()) {
    if (calls.*counter.member == 0) continue;
    text += (text.empty() ? "" : ", ") + std::to_string(calls.*counter.member) + ' ' + counter.name;
  }
  return text.empty() ? "no calls" : text;
}

std::string times_told(const latecomer_times& times, Seconds value) {
  return times.told == 0 ? "-" : seconds(value);
}

void add_times(Row& row, const latecomer_times& times) {
  row.push_back(seconds(times.inside));
  row.push_back(std::to_string(times.told));
  row.push_back(times_told(times, times.waiting));
  row.push_back(times_told(times, times.moving));
}

std::string operator_kind(const latecomer_key_stats& key) {
  if (!combines(parse_collective(key.collective))) return "-";
  return std::string(key.commutative != 0 ? "commutative" : "ordered") +
         (key.exact != 0 ? " exact" : "");
}

std::string choices(const latecomer_key_stats& key) {
  std::string text;
  for (int i = 0; i < key.choice_count; ++i) {
    const latecomer_choice_stats& choice = key.choices[i];
    text += (text.empty() ? "" : ", ") + std::to_string(choice.calls) + ' ' + choice.algorithm;
    if (choice.parameters[0] != '\0') text += std::string(" (") + choice.parameters + ')';
  }
  if (key.other_choices > 0) text += ", " + std::to_string(key.other_choices) + " others";
  return text;
}

/// The mean estimate error; only if there are estimates.
Seconds mean_estimate_error(const latecomer_key_stats& key) {
  return key.estimate_error / static_cast<double>(key.estimated);
}

Row row_of(const latecomer_key_stats& key) {
  const bool rest = key.collective[0] == '\0';
  const std::string place =
      key.period == 0 ? "-" : std::to_string(key.position) + '/' + std::to_string(key.period);
  Row row = {rest ? "further keys" : key.collective, rest ? "-" : std::to_string(key.bytes),
             rest ? "-" : operator_kind(key), place};
  add_times(row, key.times);
  row.push_back(key.estimated == 0 ? "-" : seconds(mean_estimate_error(key)));
  row.push_back(counted(key.calls) + ": " + choices(key));
  return row;
}

std::string key_table(const CommStats& comm) {
  std::vector<Row> rows = {{"collective", "bytes", "operator", "place", "inside s", "told",
                            "waiting s", "moving s", "estimate off by s", "calls"}};
  for (const latecomer_key_stats& key : comm.keys) rows.push_back(row_of(key));
  return table(rows);
}

std::string site_table(const CommStats& comm) {
  std::vector<Row> rows = {{"called from", "inside s", "told", "waiting s", "moving s", "calls"}};
  for (const latecomer_site_stats& site : comm.sites) {
    Row row = {printable(name_of_site(site.address))};
    add_times(row, site.times);
    row.push_back(counted(site.calls));
    rows.push_back(row);
  }
  return table(rows);
}

std::string title(const CommStats& comm) {
  const std::string name = comm.name.empty() ? "an unnamed communicator" : '\'' + comm.name + '\'';
  return printable("rank " + std::to_string(comm.rank) + " of " + name + " (" +
                   std::to_string(comm.ranks) + " ranks): " + counted(comm.calls));
}

// ---- JSON

std::string json(const latecomer_stats& calls) {
  std::string text;
  for (const Counter& counter : counters()) {
    text += text.empty() ? '{' : ',';
    text += json_quoted(counter.name) + ':' + std::to_string(calls.*counter.member);
  }
  return text + '}';
}

std::string json(const latecomer_times& times) {
  return "{\"inside_s\":" + format_number(times.inside) +
         ",\"told\":" + std::to_string(times.told) +
         ",\"waiting_s\":" + format_number(times.waiting) +
         ",\"moving_s\":" + format_number(times.moving) + '}';
}

std::string json(const latecomer_choice_stats& choice) {
  return "{\"algorithm\":" + json_quoted(choice.algorithm) +
         ",\"parameters\":" + json_quoted(choice.parameters) +
         ",\"calls\":" + std::to_string(choice.calls) + '}';
}

std::string json(const latecomer_key_stats& key) {
  const std::vector<latecomer_choice_stats> used(key.choices, key.choices + key.choice_count);
  const auto text = [](const latecomer_choice_stats& choice) { return json(choice); };
  return "\n{\"collective\":" + json_quoted(key.collective) +
         ",\"bytes\":" + std::to_string(key.bytes) +
         ",\"commutative\":" + std::to_string(key.commutative) +
         ",\"exact\":" + std::to_string(key.exact) + ",\"period\":" + std::to_string(key.period) +
         ",\"position\":" + std::to_string(key.position) + ",\"calls\":" + json(key.calls) +
         ",\"times\":" + json(key.times) + ",\"choices\":" + json_list(used, text) +
         ",\"last_choice\":" + std::to_string(key.last_choice) +
         ",\"other_choices\":" + std::to_string(key.other_choices) +
         ",\"estimated\":" + std::to_string(key.estimated) +
         ",\"estimate_error_s\":" + format_number(key.estimate_error) +
         ",\"mean_estimate_error_s\":" +
         (key.estimated == 0 ? "null" : format_number(mean_estimate_error(key))) + '}';
}

std::string json(const latecomer_site_stats& site) {
  return "\n{\"site\":" + json_quoted(name_of_site(site.address)) +
         ",\"calls\":" + json(site.calls) + ",\"times\":" + json(site.times) + '}';
}

std::string json(const CommStats& comm) {
  const auto text = [](const auto& entry) { return json(entry); };
  return "\n{\"name\":" + json_quoted(comm.name) + ",\"rank\":" + std::to_string(comm.rank) +
         ",\"ranks\":" + std::to_string(comm.ranks) + ",\"calls\":" + json(comm.calls) +
         ",\"keys\":" + json_list(comm.keys, text) + ",\"sites\":" + json_list(comm.sites, text) +
         '}';
}

}  // namespace

std::string name_of_site(const void* address) {
  if (address == nullptr) return "further places";
  const auto number = reinterpret_cast<std::uintptr_t>(address);
  Dl_info info{};
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return "0x" + format_hex(number);
  const std::string path = info.dli_fname;
  const std::string module = path.substr(path.rfind('/') + 1);
  const auto offset = [&](const void* base) {
    return "+0x" + format_hex(number - reinterpret_cast<std::uintptr_t>(base));
  };
  std::string place = module + offset(info.dli_fbase);
  if (info.dli_sname == nullptr) return place;
  return place + " (" + info.dli_sname + offset(info.dli_saddr) + ')';
}

std::string stats_text(const ProcessStats& stats) {
  std::string text = stats.job ? "latecomer: " + describe(*stats.job) + '\n' : "";
  if (stats.job && stats.job->calls.handled > 0 && !environment_flag("LATECOMER_REPRODUCIBLE")) {
    text += kFloats;
  }
  text += std::string("latecomer ") + latecomer_version() + ": calls of rank " +
          std::to_string(stats.rank) + " of " + std::to_string(stats.ranks) + '\n';
  if (stats.slept > 0) {
    text += "slept while waiting, so that the core was free: " + seconds(stats.slept) + " s\n";
  }
  for (const CommStats& comm : stats.communicators) {
    text += title(comm) + '\n' + key_table(comm) + site_table(comm);
  }
  if (stats.further_communicators > 0) {
    text += std::to_string(stats.further_communicators) +
            " further communicators: " + counted(stats.further_calls) + '\n';
  }
  text += stats.communicators.empty() ? "no calls\n" : kDefinitions + about_native(stats);
  return text;
}

std::string stats_json(const ProcessStats& stats) {
  const auto text = [](const CommStats& comm) { return json(comm); };
  return "{\"version\":" + json_quoted(latecomer_version()) +
         ",\"rank\":" + std::to_string(stats.rank) + ",\"ranks\":" + std::to_string(stats.ranks) +
         ",\"slept_s\":" + format_number(stats.slept) +
         (stats.job ? ",\"job\":" + json(*stats.job) : "") +
         ",\"communicators\":" + json_list(stats.communicators, text) +
         ",\"further_communicators\":" + std::to_string(stats.further_communicators) +
         ",\"further_calls\":" + json(stats.further_calls) + "}\n";
}

}  // namespace latecomer
