// The slow, obvious reference that every algorithm is compared with, and what tests run it on.
#pragma once

#include <string>
#include <vector>

#include "algorithms/registry.hpp"
#include "simulate/simulate.hpp"

namespace latecomer::testing {

/// What each rank has before the call: random elements.
std::vector<Elements> random_inputs(const Problem& problem, std::uint64_t seed);
/// What each rank must have after it; nothing where nothing is promised.
std::vector<Elements> right_results(const Problem& problem, const std::vector<Elements>& inputs);

/// The buffers of all ranks before the call, with the operator that the problem needs.
std::vector<Memory> memory_with(const Problem& problem, const Parties& parties,
                                const std::vector<Elements>& inputs);
/// What is wrong with what the ranks hold after it; nothing if it is right.
std::string compare(const Problem& problem, const std::vector<Memory>& memory,
                    const std::vector<Elements>& inputs);

/// Sum modulo 2^64: commutative.
Element add(Element left, Element right);
/// Composition of the maps x -> a x + b modulo a prime, a and b packed in one element:
/// associative, not commutative.
Element compose(Element left, Element right);
Element random_map(std::uint64_t bits);

/// Left to right over the ranks, element by element.
Elements reduce_in_rank_order(const std::vector<Elements>& inputs, Element (*op)(Element, Element));

/// An arrival pattern by number: balanced, one late, all random, sorted either way, one early.
std::vector<Seconds> arrival_pattern(int number, Rank ranks, Seconds spread, std::uint64_t seed);
inline constexpr int kArrivalPatterns = 6;

/// Runs the plan with real data and compares every rank's output with the reference; returns what
/// is wrong, or nothing. `options` gives network, arrivals and window; memory is filled in here.
std::string run_and_compare(const Plan& plan, SimulationOptions options, std::uint64_t seed);

}  // namespace latecomer::testing
