// How soon a collective can finish: lower bounds that hold for every algorithm.
#pragma once

#include <vector>

#include "base/network.hpp"
#include "schedule/problem.hpp"

namespace latecomer {

/// The least possible time from the last arrival to the last exit when no rank moves data before
/// its own arrival (`arrivals` empty: all arrive together). The largest of
/// - late data: the last rank's vector must leave it, and reach every other rank;
/// - rounds: its information needs ceil(log2 P) messages, one after the other;
/// - volume: after any time t each element still needs P-1 messages to tell everybody and one
///   more from each of the k ranks that have not arrived (P-1 if none has), and the ranks can
///   receive only from their arrivals on.
/// Assumes one message costs alpha + bytes * beta on each of its two ports, and an operator that
/// does not compress.
[[nodiscard]] Seconds least_after_last(const Problem& problem, const std::vector<Seconds>& arrivals,
                                       const Network& network);

}  // namespace latecomer
