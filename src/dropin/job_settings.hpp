// The settings of a job, by the environment of its ranks.
#pragma once

#include <cstdint>
#include <vector>

#include "dropin/handshake.hpp"
#include "runtime/settings/defaults.hpp"

namespace latecomer {

/// The modes that LATECOMER asks for.
enum class Mode : std::uint8_t { off, on, observe };

[[nodiscard]] Mode mode_of_environment();
/// The algorithms that are set; when the library observes, none.
[[nodiscard]] Policy policy_of(Mode mode);
/// The settings that all ranks must have alike, as they were understood.
[[nodiscard]] std::vector<SharedSetting> shared_settings(Mode mode, const Policy& policy);
/// LATECOMER_MIN_BYTES.
[[nodiscard]] int min_bytes();
/// Reads all other variables, so that each that is wrong or unknown is reported at once, and tells
/// the settings in force, and where they come from, to those who want to know.
void tell_settings(const Policy& policy);

}  // namespace latecomer
