// Settings that must be equal on all ranks although each rank sets them by itself, by the
// environment or by local functions. The ranks compare them once, in their first call that
// latecomer handles. If one differs, the ranks would follow different plans: then the MPI library
// executes all calls.
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
  bool must_be_alike = true;  // false: where it differs, only this setting is not used
};

/// The library's version is the first row: those of another version need not mean the same.
[[nodiscard]] std::span<const Setting> settings();

[[nodiscard]] SettingHashes hashes_of(const CommState& state);
/// The names of the settings that differ and must not, with commas between them; "" if none does.
[[nodiscard]] std::string names_of_differing(const SettingHashes& all);

/// Marks the settings as different: the MPI library executes all calls, and rank 0 reports that on
/// stderr.
void find_different(CommState& state, const std::string& names);

/// Sets `state.settings` from the settings of all ranks, alike on all of them; if they differ rank
/// 0 reports that on stderr.
void conclude(CommState& state, const SettingHashes& all);

/// Compares the settings unless they were compared before; collective, up a binomial tree of the
/// ranks and down again. Fails as a call does.
[[nodiscard]] Outcome compare_settings(CommState& state);

}  // namespace latecomer
