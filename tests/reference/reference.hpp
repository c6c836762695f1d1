// The slow, obvious reference that every algorithm is compared with, and its inputs and arrivals.
#pragma once

#include <string>
#include <vector>

#include "algorithms/registry.hpp"
#include "simulate/simulate.hpp"

namespace latecomer::testing {

/// Returns the elements of each rank before the call, at random.
std::vector<Elements> random_inputs(const Problem& problem, std::uint64_t seed);
/// Returns the elements that each rank must have after the call; none where none are promised.
std::vector<Elements> right_results(const Problem& problem, const std::vector<Elements>& inputs);

/// The buffers of all ranks before the call, with the operator that the problem needs.
std::vector<Memory> memory_with(const Problem& problem, const Executors& executors,
                                const std::vector<Elements>& inputs);
/// Returns the first mistake in the memory of the ranks after the call; empty if there is none.
std::string compare(const Problem& problem, const std::vector<Memory>& memory,
                    const std::vector<Elements>& inputs);

/// Sum modulo 2^64: commutative.
Element add(Element left, Element right);
/// Composition of the maps x -> a x + b modulo a prime, a and b packed in one element:
/// associative, not commutative.
Element compose(Element left, Element right);
Element random_map(std::uint64_t bits);

/// Combines the inputs from left to right over the ranks, element by element.
Elements reduce_in_rank_order(const std::vector<Elements>& inputs, Element (*op)(Element, Element));

/// An arrival pattern by number: balanced, one late, all random, sorted either way, one early.
std::vector<Seconds> arrival_pattern(int number, Rank ranks, Seconds spread, std::uint64_t seed);
inline constexpr int kArrivalPatterns = 6;

/// Runs the plan with real data and compares every rank's output with the reference; returns the
/// mistake, or nothing. `options` gives network, arrivals and window; memory is filled in here.
std::string run_and_compare(const Plan& plan, SimulationOptions options, std::uint64_t seed);

}  // namespace latecomer::testing
