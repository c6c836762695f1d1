#include "runtime/connection/introduction.hpp"

#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <tuple>
#include <type_traits>

#include "base/reproducible.hpp"

namespace latecomer {
namespace {

/// The boot id; empty if the system has none.
std::string boot_id() {
  std::string id;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> id;
  return id;
}

std::string name_of_host() {
  char name[MPI_MAX_PROCESSOR_NAME] = "";
  int length = 0;
  PMPI_Get_processor_name(name, &length);
  return name;
}

std::uint64_t hash_of_machine(const std::string& boot) {
  if (!boot.empty()) return fnv1a(boot);
  return fnv1a(name_of_host());
}

/// The identity of a namespace of this process; empty where the system has none.
std::string namespace_named(const char* path) {
  char name[256] = "";
  const ssize_t length = readlink(path, name, sizeof name);
  return length > 0 ? std::string(name, static_cast<std::size_t>(length)) : "";
}

std::uint64_t hash_of_clock(const std::string& boot) {
  return boot.empty() ? 0 : fnv1a(boot + namespace_named("/proc/self/ns/time"));
}

/// Processes share memory through /proc, so they must see each other there, or through /dev/shm.
/// Hosts of an emulated cluster differ by name alone.
std::uint64_t hash_of_node(const std::string& boot) {
  std::string text = boot;
  utsname host{};
  if (uname(&host) == 0) text += std::string(" ") + host.nodename;
  struct stat memory{};
  if (stat("/dev/shm", &memory) == 0) text += ' ' + std::to_string(memory.st_dev);
  text += namespace_named("/proc/self/ns/pid") + namespace_named("/proc/self/ns/ipc");
  return fnv1a(text);
}

}  // namespace

void merge(SettingHashes& mine, const SettingHashes& others) {
  mine.differing |= others.differing;
  for (std::size_t i = 0; i < mine.values.size(); ++i) {
    if (mine.values[i] != others.values[i]) mine.differing |= std::uint64_t{1} << i;
  }
}

Introduction introduction_of_place() {
  const std::string boot = boot_id();
  Introduction mine;
  mine.machine = hash_of_machine(boot);
  mine.clock = hash_of_clock(boot);
  mine.node = hash_of_node(boot);
  const std::string host = name_of_host();
  host.copy(mine.host.data(), mine.host.size() - 1);
  static std::atomic<std::uint64_t> made{0};
  mine.number = ++made;
  return mine;
}

int introduce(MPI_Comm comm, const Introduction& mine, Introductions& all) {
  static_assert(std::is_trivially_copyable_v<Introduction>);
  constexpr int kNumbers = sizeof(Introduction) / sizeof(std::uint64_t);
  static_assert(kNumbers * sizeof(std::uint64_t) == sizeof(Introduction));
  int ranks = 0;
  const int code = PMPI_Comm_size(comm, &ranks);
  if (code != MPI_SUCCESS) return code;
  all.resize(static_cast<std::size_t>(ranks));
  return PMPI_Allgather(&mine, kNumbers, MPI_UINT64_T, all.data(), kNumbers, MPI_UINT64_T, comm);
}

bool is_oversubscribed(const Introductions& all, Rank me, long cores) {
  const auto here = [machine = all[static_cast<std::size_t>(me)].machine](const Introduction& one) {
    return one.machine == machine;
  };
  return std::count_if(all.begin(), all.end(), here) > cores;
}

std::vector<std::uint64_t> clocks_of(const Introductions& all) {
  std::vector<std::uint64_t> clocks;
  for (const Introduction& one : all) clocks.push_back(one.clock);
  return clocks;
}

Placement placement_of(const Introductions& all) {
  using Node = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> met;
  std::map<Node, Rank> numbers;
  std::vector<Rank> nodes;
  for (const Introduction& one : all) {
    const std::uint64_t before = met[{one.node, one.per_node}]++;
    const Node node{one.node, one.per_node, one.per_node == 0 ? 0 : before / one.per_node};
    nodes.push_back(numbers.try_emplace(node, static_cast<Rank>(numbers.size())).first->second);
  }
  const Placement placement = numbered(nodes);
  return shares_nodes(placement) ? placement : Placement{};
}

bool any_passes_device_memory(const Introductions& all) {
  return std::any_of(all.begin(), all.end(),
                     [](const Introduction& one) { return one.device != 0; });
}

SettingHashes settings_of(const Introductions& all) {
  SettingHashes merged = all.front().settings;
  for (const Introduction& one : all) merge(merged, one.settings);
  return merged;
}

namespace {

constexpr std::size_t kMostNamed = 4;  // more would hide the rest of a message

}  // namespace

Hosts::Hosts(const Introductions& all) {
  std::map<std::string, std::uint32_t> numbers;
  for (const Introduction& one : all) {
    const std::string name(one.host.data(), strnlen(one.host.data(), one.host.size()));
    const auto next = static_cast<std::uint32_t>(names_.size());
    const auto [place, is_new] = numbers.try_emplace(name, next);
    if (is_new) names_.push_back(name);
    indices_.push_back(place->second);
  }
}

std::string Hosts::whereabouts(std::span<const Rank> ranks) const {
  std::string text;
  for (const Rank rank : ranks.first(std::min(ranks.size(), kMostNamed))) {
    text += (text.empty() ? "; rank " : ", rank ") + std::to_string(rank) +
            (text.empty() ? " is on host " : " on host ") +
            names_[indices_[static_cast<std::size_t>(rank)]];
  }
  return text;
}

std::string Hosts::whereabouts(std::string_view message) const {
  constexpr std::string_view kRank = "rank ";
  std::vector<Rank> ranks;
  for (auto at = message.find(kRank); at != std::string_view::npos; at = message.find(kRank, at)) {
    at += kRank.size();
    Rank rank = -1;
    const char* const digits = message.data() + at;
    (void)std::from_chars(digits, message.data() + message.size(), rank);
    if (rank < 0 || static_cast<std::size_t>(rank) >= indices_.size()) continue;
    if (std::find(ranks.begin(), ranks.end(), rank) == ranks.end()) ranks.push_back(rank);
  }
  return whereabouts(ranks);
}

}  // namespace latecomer
