// What must be set alike on all ranks and is set on each of them, by the environment or by local
// functions: compared once all ranks make a call that latecomer handles. Where something differs,
// the ranks would follow different plans; the MPI library's own collective serves them instead.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "runtime/call/run.hpp"
#include "runtime/comm_state.hpp"

namespace latecomer {

/// One row of the table in settings.cpp.
struct Setting {
  std::string_view name;
  std::uint64_t (*hash)(const CommState& state);
};

/// The library's version is the first row: those of another version need not mean the same.
[[nodiscard]] std::span<const Setting> settings();

[[nodiscard]] SettingHashes hashes_of(const CommState& state);
/// The names of those that differ, with commas between them; "" if none does.
[[nodiscard]] std::string names_of_differing(const SettingHashes& all);

/// These settings differ: the MPI library serves all ranks, and rank 0 says so on stderr.
void find_different(CommState& state, const std::string& names);

/// `state.settings` becomes what the ranks' settings say, the same on all of them; where they
/// differ rank 0 says so on stderr.
void conclude(CommState& state, const SettingHashes& all);

/// Collective over the state's link unless the settings were compared before: up a binomial tree
/// of the ranks and down again, and concluded from. Fails as a call does.
[[nodiscard]] Outcome compare_settings(CommState& state);

}  // namespace latecomer
