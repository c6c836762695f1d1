#include "runtime/connection/introduction.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <string>
#include <type_traits>

#include "base/hash.hpp"

namespace latecomer {
namespace {

/// The boot id; empty if the system has none.
std::string boot_id() {
  std::string id;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> id;
  return id;
}

std::uint64_t hash_of_machine(const std::string& boot) {
  if (!boot.empty()) return fnv1a(boot);
  char name[MPI_MAX_PROCESSOR_NAME] = "";
  int length = 0;
  PMPI_Get_processor_name(name, &length);
  return fnv1a(name);
}

std::uint64_t hash_of_clock(std::string boot) {
  if (boot.empty()) return 0;
  char name[256] = "";  // empty where there are no time namespaces: then all share the clock
  const ssize_t length = readlink("/proc/self/ns/time", name, sizeof name);
  if (length > 0) boot.append(name, static_cast<std::size_t>(length));
  return fnv1a(boot);
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

SettingHashes settings_of(const Introductions& all) {
  SettingHashes merged = all.front().settings;
  for (const Introduction& one : all) merge(merged, one.settings);
  return merged;
}

}  // namespace latecomer
