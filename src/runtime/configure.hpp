// What users set on a communicator. All functions throw Error and then change nothing.
#pragma once

#include <string_view>

#include "runtime/comm_state.hpp"

namespace latecomer {

/// Collective over the communicator: throws on every rank if one rank's text cannot be read or
/// the texts differ in meaning. A missing text (no data) cannot be read.
void set_algorithm(CommState& state, std::string_view collective, std::string_view text);

void set_arrivals(CommState& state, const Seconds* arrivals, int ranks);
void set_network(CommState& state, std::string_view text);
void set_long_wait(CommState& state, Seconds seconds);

}  // namespace latecomer
