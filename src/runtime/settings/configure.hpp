// Settings of a communicator by the program, and hooks around its computation. All functions throw
// Error and then change nothing. The caller holds the communicator's lock, and has executed started
// calls before a collective function.
#pragma once

#include <string_view>

#include "runtime/comm_state.hpp"

namespace latecomer {

/// Collective over the communicator: throws on every rank if one rank's text cannot be read or
/// the texts differ in meaning. A missing text (no data) cannot be read.
void set_algorithm(CommState& state, std::string_view collective, std::string_view text);

void set_arrivals(CommState& state, const Seconds* arrivals, int ranks);
/// Collective. "given": arrivals are those of set_arrivals(); "online": they are forecast from
/// earlier calls. Throws Error on every rank for another text, or if the ranks' texts differ.
void set_estimate(CommState& state, std::string_view text);
/// The last arrivals and the expected ones, in seconds after the earliest, one per rank.
struct Pattern {
  std::vector<Seconds> last;
  std::vector<Seconds> expected;
};
/// Throws Error if the estimate is not "online" or `ranks` not the communicator's size.
[[nodiscard]] Pattern pattern_of(const CommState& state, int ranks);
/// Collective. 1: order and choice depend on the problem and the library's version alone; 0: they
/// do not. Throws Error on every rank for another number, or where the ranks' numbers differ.
void set_reproducible(CommState& state, int on);
void set_network(CommState& state, std::string_view text);
void set_long_wait(CommState& state, Seconds seconds);

// The program's hooks around its computation: they report its progress, and make progress on
// messages.

void compute_begin(CommState& state);
/// Throws Error as ComputePhase::progress.
void compute_progress(CommState& state, double fraction);
/// Throws Error as ComputePhase::end.
void compute_end(CommState& state);

}  // namespace latecomer
