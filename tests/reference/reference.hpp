// The slow, obvious reference that every algorithm is compared with, and what tests run it on.
#pragma once

#include <string>
#include <vector>

#include "algorithms/registry.hpp"
#include "simulate/simulate.hpp"

namespace latecomer::testing {

/// Random input vectors, one a rank.
std::vector<Elements> random_inputs(Rank ranks, Count count, std::uint64_t seed);

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
