// The introduction of the ranks to each other when CommResources are made: one all-gather gives
// every rank all that it must know of every other rank.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.hpp"
#include "schedule/placement.hpp"
#include "transports/mpi/mpi.hpp"

namespace latecomer {

/// A rank's progress mode (runtime/progress/progress_thread.hpp).
enum class ProgressMode : std::uint64_t { none, not_allowed, thread };

/// The settings of some ranks as hashes (runtime/settings/settings.hpp).
struct SettingHashes {
  static constexpr std::size_t kMax = 15;  // in any version

  std::array<std::uint64_t, kMax> values{};
  std::uint64_t differing = 0;  // bit i: setting i differs between these ranks
  bool operator==(const SettingHashes&) const = default;
};

/// Merges other ranks' settings.
void merge(SettingHashes& mine, const SettingHashes& others);

/// The introduction of one rank.
struct Introduction {
  std::uint64_t machine = 0;  // containers and network namespaces count with their host
  std::uint64_t clock = 0;    // of a running kernel and a time namespace; 0: not known
  ProgressMode progress = ProgressMode::none;
  std::uint64_t node = 0;       // of processes that can share memory
  std::uint64_t per_node = 0;   // ranks that may share a node (node_sharing.hpp); 0: all
  std::uint64_t number = 0;     // of CommResources that this process has made; rank 0's counts
  std::uint64_t slot = 0;       // that this process proposes (internal_comm.hpp); 0: none is needed
  std::uint64_t device = 0;     // 1: it has passed memory of a device (host_buffers.hpp)
  std::array<char, 64> host{};  // its name, cut off if it is longer; for messages
  SettingHashes settings;
};

/// The fields that describe this process; the caller fills in the rest.
[[nodiscard]] Introduction introduction_of_place();

/// The introductions by rank.
using Introductions = std::vector<Introduction>;

/// Collective over `comm`. Returns MPI's code; `all` is complete if it is MPI_SUCCESS.
[[nodiscard]] int introduce(MPI_Comm comm, const Introduction& mine, Introductions& all);

/// True if more ranks run on this rank's machine than it has cores.
[[nodiscard]] bool is_oversubscribed(const Introductions& all, Rank me, long cores);

/// The identity of each rank's clock.
[[nodiscard]] std::vector<std::uint64_t> clocks_of(const Introductions& all);

/// The placement of the ranks; empty if no two share a node. Of the ranks of a node that ask for
/// fewer on one, those that follow each other share one.
[[nodiscard]] Placement placement_of(const Introductions& all);

[[nodiscard]] SettingHashes settings_of(const Introductions& all);

/// True if a rank has passed memory of a device.
[[nodiscard]] bool any_passes_device_memory(const Introductions& all);

/// The names of the hosts on which a communicator's ranks run, for messages.
class Hosts {
 public:
  explicit Hosts(const Introductions& all);

  /// "; rank 1 is on host n3, rank 2 on host n4", of the first few of these ranks; "" for none.
  [[nodiscard]] std::string whereabouts(std::span<const Rank> ranks) const;
  /// The same, of the ranks that a message names: "rank 3".
  [[nodiscard]] std::string whereabouts(std::string_view message) const;

 private:
  std::vector<std::string> names_;      // of the hosts
  std::vector<std::uint32_t> indices_;  // into names_, by rank: four bytes each
};

}  // namespace latecomer
