#include "runtime/connection/introduction.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstring>
#include <iterator>
#include <map>
#include <tuple>
#include <type_traits>

#include "base/reproducible.hpp"

namespace latecomer {
namespace {

/// A text that needs no memory of the heap: a rank that lacks some must not miss the others, which
/// make a communicator together now. It is short, since threads may have small stacks; what has no
/// room is left out.
class Text {
 public:
  void add(std::string_view more) {
    more = more.substr(0, text_.size() - length_);
    more.copy(text_.data() + length_, more.size());
    length_ += more.size();
  }
  [[nodiscard]] std::string_view view() const { return {text_.data(), length_}; }

 private:
  std::array<char, 320> text_{};
  std::size_t length_ = 0;
};

/// The boot id; empty if the system has none.
Text boot_id() {
  Text id;
  const int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  if (file < 0) return id;
  char line[64];
  const ssize_t length = read(file, line, sizeof line);
  close(file);
  if (length > 0) id.add(std::string_view(line, static_cast<std::size_t>(length)));
  return id;
}

Text name_of_host() {
  Text found;
  char name[MPI_MAX_PROCESSOR_NAME] = "";
  int length = 0;
  PMPI_Get_processor_name(name, &length);
  found.add(name);
  return found;
}

std::uint64_t hash_of_machine(const Text& boot) {
  return fnv1a(boot.view().empty() ? name_of_host().view() : boot.view());
}

/// Adds the identity of a namespace of this process, where the system has one.
void add_namespace(Text& text, const char* path) {
  char name[256] = "";
  const ssize_t length = readlink(path, name, sizeof name);
  if (length > 0) text.add(std::string_view(name, static_cast<std::size_t>(length)));
}

std::uint64_t hash_of_clock(Text boot) {
  if (boot.view().empty()) return 0;
  add_namespace(boot, "/proc/self/ns/time");
  return fnv1a(boot.view());
}

/// Processes share memory through /proc, so they must see each other there, or through /dev/shm.
/// Hosts of an emulated cluster differ by name alone.
std::uint64_t hash_of_node(Text text) {
  utsname host{};
  text.add(" ");
  if (uname(&host) == 0) text.add(host.nodename);
  struct stat memory{};
  if (stat("/dev/shm", &memory) == 0) {
    char device[24] = " ";
    const auto end = std::to_chars(device + 1, std::end(device), memory.st_dev).ptr;
    text.add(std::string_view(device, static_cast<std::size_t>(end - device)));
  }
  add_namespace(text, "/proc/self/ns/pid");
  add_namespace(text, "/proc/self/ns/ipc");
  return fnv1a(text.view());
}

constexpr std::size_t kMostNamed = 4;  // more would hide the rest of a message

}  // namespace

void merge(SettingHashes& mine, const SettingHashes& others) {
  mine.differing |= others.differing;
  for (std::size_t i = 0; i < mine.values.size(); ++i) {
    if (mine.values[i] != others.values[i]) mine.differing |= std::uint64_t{1} << i;
  }
}

Introduction introduction_of_place() {
  const Text boot = boot_id();
  Introduction mine;
  mine.machine = hash_of_machine(boot);
  mine.clock = hash_of_clock(boot);
  mine.node = hash_of_node(boot);
  name_of_host().view().copy(mine.host.data(), mine.host.size() - 1);
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
