#include "reference/reference.hpp"

#include <algorithm>

#include "base/random.hpp"

namespace latecomer::testing {
namespace {

constexpr std::uint64_t kPrime = 65521;

}  // namespace

std::vector<Elements> random_inputs(Rank ranks, Count count, std::uint64_t seed) {
  Random random(seed);
  std::vector<Elements> inputs(static_cast<std::size_t>(ranks));
  for (Elements& input : inputs) {
    input.resize(static_cast<std::size_t>(count));
    for (Element& element : input) element = random_map(random.next());
  }
  return inputs;
}

Element add(Element left, Element right) { return left + right; }

Element random_map(std::uint64_t bits) {
  const std::uint64_t a = 1 + (bits & 0xffff) % (kPrime - 1);
  const std::uint64_t b = ((bits >> 16) & 0xffff) % kPrime;
  return a << 32 | b;
}

Element compose(Element left, Element right) {
  const std::uint64_t a = left >> 32;
  const std::uint64_t b = left & 0xffffffff;
  const std::uint64_t c = right >> 32;
  const std::uint64_t d = right & 0xffffffff;
  return (a * c % kPrime) << 32 | (a * d + b) % kPrime;
}

Elements reduce_in_rank_order(const std::vector<Elements>& inputs,
                              Element (*op)(Element, Element)) {
  Elements result = inputs.front();
  for (std::size_t rank = 1; rank < inputs.size(); ++rank) {
    for (std::size_t i = 0; i < result.size(); ++i) result[i] = op(result[i], inputs[rank][i]);
  }
  return result;
}

std::vector<Seconds> arrival_pattern(int number, Rank ranks, Seconds spread, std::uint64_t seed) {
  Random random(seed);
  std::vector<Seconds> arrivals(static_cast<std::size_t>(ranks), 0.0);
  const auto chosen = random.below(static_cast<std::uint64_t>(ranks));
  for (Rank rank = 0; rank < ranks; ++rank) {
    Seconds& arrival = arrivals[static_cast<std::size_t>(rank)];
    const bool is_chosen = static_cast<std::uint64_t>(rank) == chosen;
    const double fraction = static_cast<double>(rank) / static_cast<double>(ranks);
    if (number == 1) arrival = is_chosen ? spread : 0;
    if (number == 2) arrival = spread * random.uniform();
    if (number == 3) arrival = spread * fraction;
    if (number == 4) arrival = spread * (1 - fraction);
    if (number == 5) arrival = is_chosen ? 0 : spread;
  }
  return arrivals;
}

std::string run_and_compare(const Plan& plan, SimulationOptions options, std::uint64_t seed) {
  const Problem& problem = plan.problem;
  const auto op = problem.commutative ? add : compose;
  const auto inputs = random_inputs(problem.ranks, problem.count, seed);
  const auto programs = build_programs(plan);
  std::vector<Memory> memory;
  for (Rank rank = 0; rank < problem.ranks; ++rank) {
    const auto r = static_cast<std::size_t>(rank);
    memory.emplace_back(programs[r], inputs[r], op);
  }
  options.memory = &memory;
  const Simulation result = simulate(programs, options);
  if (!result.failure.empty()) return result.failure;
  const Elements expected = reduce_in_rank_order(inputs, op);
  for (std::size_t rank = 0; rank < memory.size(); ++rank) {
    if (memory[rank].output() != expected) return "rank " + std::to_string(rank) + ": wrong result";
    if (!problem.in_place && memory[rank].input() != inputs[rank]) {
      return "rank " + std::to_string(rank) + ": input changed";
    }
  }
  return "";
}

}  // namespace latecomer::testing
