// The earliest end of a collective: lower bounds that hold for every algorithm.
#pragma once

#include <vector>

#include "base/network.hpp"
#include "schedule/plan.hpp"
#include "schedule/problem.hpp"

namespace latecomer {

/// The number of rounds until one of `nodes` has told all, if each tells `ports` more in a round.
[[nodiscard]] double rounds_to_all(std::size_t nodes, Count ports);

/// The least possible time from the last arrival to the last exit (`arrivals` empty: all arrive
/// together). For an all-reduce it is the largest of
/// - late data: the last rank's vector must leave its node, and from the moment when its last part
///   has left, that part needs ceil(log2) messages to reach all nodes, one after the other;
/// - volume: after any time t each element still needs N-1 messages to tell all N nodes, and one
///   more from each of the k nodes that have not arrived (k - 1 where the result may be combined
///   at one of these).
/// For the others: the late data of the ranks whose data others need, the volume that a node still
/// has to receive or to send after any time t, and rounds. The bounds are weaker
/// where ranks share nodes: then only data that pass between nodes count or, where all share one,
/// what each rank copies or combines. With foreground progress
/// a node can receive only from its arrival on; with background progress, and where the network
/// takes in short messages on its own (eager limit > 0), also before. Assumes that a message costs
/// alpha + bytes * beta on each of its two ports, and an operator that does not compress. Proof
/// sketches: docs/decisions/0011.
[[nodiscard]] Seconds least_after_last(const Problem& problem, const std::vector<Seconds>& arrivals,
                                       const Network& network,
                                       Progress progress = Progress::foreground);

}  // namespace latecomer
