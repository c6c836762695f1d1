#include "runtime/settings/settings.hpp"

#include "base/reproducible.hpp"
#include "latecomer/latecomer.h"
#include "runtime/connection/blocking_channel.hpp"
#include "runtime/report/log.hpp"
#include "runtime/settings/wisdom_file.hpp"
#include "transports/mpi/link.hpp"

namespace latecomer {
namespace {

std::uint64_t hash_of_version(const CommState&) { return fnv1a(latecomer_version()); }

/// The hash of the network; 0 in reproducible mode, where no network matters.
std::uint64_t hash_of_network(const CommState& state) {
  if (state.chooser.policy().reproducible) return 0;
  return fnv1a(to_string(state.chooser.policy().network));
}

std::uint64_t hash_of_mode(const CommState& state) {
  return state.chooser.policy().reproducible ? 1 : 0;
}

std::uint64_t hash_of_rules(const CommState& state) {
  const auto& rules = state.chooser.policy().rules;
  return rules ? rules->hash : 0;
}

std::uint64_t hash_of_nodes(const CommState& state) { return state.per_node; }

constexpr Setting kSettings[] = {
    {"library version", hash_of_version},
    {"reproducible", hash_of_mode},
    {"network", hash_of_network},
    {"rules", hash_of_rules},
    {"nodes", hash_of_nodes},
    {"wisdom", hash_of_wisdom, false},
};
static_assert(std::size(kSettings) <= SettingHashes::kMax);

}  // namespace

std::span<const Setting> settings() { return kSettings; }

SettingHashes hashes_of(const CommState& state) {
  SettingHashes hashes;
  for (std::size_t i = 0; i < settings().size(); ++i) hashes.values[i] = settings()[i].hash(state);
  return hashes;
}

std::string names_of_differing(const SettingHashes& all) {
  if ((all.differing & 1) != 0) return std::string(settings().front().name);
  std::string names;
  for (std::size_t i = 0; i < settings().size(); ++i) {
    if ((all.differing >> i & 1) == 0 || !settings()[i].must_be_alike) continue;
    names += (names.empty() ? "" : ", ") + std::string(settings()[i].name);
  }
  return names;
}

void find_different(CommState& state, const std::string& names) {
  state.settings = Settings::different;
  if (state.rank != 0) return;
  log_line(describe(state.comm) + ": settings differ between ranks: " + names +
           "; the MPI library's own collectives carry out all calls on this communicator");
}

void conclude(CommState& state, const SettingHashes& all) {
  const std::string names = names_of_differing(all);
  if (!names.empty()) return find_different(state, names);
  state.settings = Settings::alike;
  state.chooser.agree_on_network();
  begin_with_wisdom(state, all.differing == 0);
}

Outcome compare_settings(CommState& state) {
  if (state.settings != Settings::unknown) return {};
  BlockingChannel channel(*state.resources, {state.comm, state.tuning.long_wait, 1},
                          Tags::kSettings, "to compare settings");
  const SettingHashes all =
      tree_allreduce(channel, state.ranks, state.rank, hashes_of(state), merge);
  if (channel.failed()) return channel.outcome();
  conclude(state, all);
  return {};
}

}  // namespace latecomer
