#include "reference/reference.hpp"

#include <algorithm>
#include <numeric>

#include "algorithms/plans.hpp"
#include "base/reproducible.hpp"

namespace latecomer::testing {
namespace {

constexpr std::uint64_t kPrime = 65521;

/// Returns the elements of all ranks one after another.
Elements joined(const std::vector<Elements>& parts) {
  Elements all;
  for (const Elements& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

/// Returns the number of elements in each rank's part of a vector that is in parts.
std::vector<Count> parts_of(const Problem& problem) {
  if (!problem.parts.empty()) return problem.parts;
  std::vector<Count> parts(static_cast<std::size_t>(problem.ranks), problem.count / problem.ranks);
  for (Count i = 0; i < problem.count % problem.ranks; ++i) ++parts[static_cast<std::size_t>(i)];
  return parts;
}

Count place_of(const Problem& problem, Rank rank) {
  const std::vector<Count> parts = parts_of(problem);
  return std::accumulate(parts.begin(), parts.begin() + rank, Count{0});
}

}  // namespace

std::vector<Elements> random_inputs(const Problem& problem, std::uint64_t seed) {
  Random random(seed);
  std::vector<Elements> inputs(static_cast<std::size_t>(problem.ranks));
  for (std::size_t rank = 0; rank < inputs.size(); ++rank) {
    const bool root = static_cast<Rank>(rank) == problem.root;
    Count count = problem.count;
    if (problem.collective == Collective::allgather || problem.collective == Collective::gather) {
      count = parts_of(problem)[rank];
    } else if (!root && !combines(problem.collective)) {
      count = 0;
    }
    inputs[rank].resize(static_cast<std::size_t>(count));
    for (Element& element : inputs[rank]) element = random_map(random.next());
  }
  return inputs;
}

std::vector<Elements> right_results(const Problem& problem, const std::vector<Elements>& inputs) {
  const auto op = problem.commutative ? add : compose;
  const auto root = static_cast<std::size_t>(problem.root);
  std::vector<Elements> results(inputs.size());
  switch (problem.collective) {
    case Collective::allreduce:
      results.assign(inputs.size(), reduce_in_rank_order(inputs, op));
      break;
    case Collective::reduce:
      results[root] = reduce_in_rank_order(inputs, op);
      break;
    case Collective::allgather:
      results.assign(inputs.size(), joined(inputs));
      break;
    case Collective::gather:
      results[root] = joined(inputs);
      break;
    case Collective::bcast:
      results.assign(inputs.size(), inputs[root]);
      results[root].clear();
      break;
    case Collective::scatter:
      for (std::size_t rank = 0; rank < results.size(); ++rank) {
        const auto begin = inputs[root].begin() + place_of(problem, static_cast<Rank>(rank));
        results[rank].assign(begin, begin + parts_of(problem)[rank]);
      }
      break;
  }
  return results;
}

std::vector<Memory> memory_with(const Problem& problem, const Executors& executors,
                                const std::vector<Elements>& inputs) {
  const auto op = problem.commutative ? add : compose;
  std::vector<Memory> memory;
  for (std::size_t r = 0; r < executors.size(); ++r) {
    const auto rank = static_cast<Rank>(r);
    const bool joins =
        problem.collective == Collective::allgather || problem.collective == Collective::gather;
    const bool whole_input = !problem.in_place || problem.collective == Collective::scatter ||
                             problem.collective == Collective::bcast ||
                             (rooted(problem.collective) && rank != problem.root);
    const Buffer buffer = whole_input ? Buffer::input : Buffer::output;
    const Count begin = whole_input || !joins ? 0 : place_of(problem, rank);
    memory.emplace_back(executors[r]->context(), op);
    for (std::size_t mate = 0; mate < r; ++mate) {
      if (executors[mate]->context().node != executors[r]->context().node) continue;
      memory.back().share_node(memory[mate]);
      break;
    }
    memory.back().write({buffer, begin, static_cast<Count>(inputs[r].size())}, inputs[r]);
  }
  return memory;
}

std::string compare(const Problem& problem, const std::vector<Memory>& memory,
                    const std::vector<Elements>& inputs) {
  const std::vector<Elements> results = right_results(problem, inputs);
  for (std::size_t rank = 0; rank < memory.size(); ++rank) {
    const std::string who = "rank " + std::to_string(rank) + ": ";
    const bool scattered_in_place = problem.collective == Collective::scatter && problem.in_place &&
                                    static_cast<Rank>(rank) == problem.root;
    if (!scattered_in_place && memory[rank].output() != results[rank]) return who + "wrong result";
    const bool has_input = !memory[rank].input().empty();
    if (has_input && memory[rank].input() != inputs[rank]) return who + "input changed";
  }
  return "";
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
  const auto inputs = random_inputs(problem, seed);
  const Executors executors = make_executors(plan, options.network);
  std::vector<Memory> memory = memory_with(problem, executors, inputs);
  options.memory = &memory;
  const Simulation result = simulate(executors, options);
  return result.failure.empty() ? compare(problem, memory, inputs) : result.failure;
}

}  // namespace latecomer::testing
