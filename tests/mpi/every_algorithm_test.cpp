// Every registered algorithm and a few of its parameters x counts x in place or not x kinds of
// elements x arrivals x estimates, right or wrong.
#include <algorithm>

#include "algorithms/registry.hpp"
#include "communicator.hpp"
#include "latecomer/latecomer_mpi.h"
#include "try_reduction.hpp"

namespace latecomer::testing {
namespace {

/// The texts to choose an algorithm by: its defaults, and each parameter set to a few values.
std::vector<std::string> choices(const Algorithm& algorithm) {
  const std::string name(algorithm.name);
  std::vector<std::string> texts = {name};
  for (const Parameter& parameter : algorithm.parameters) {
    const std::string start = name + ':' + std::string(parameter.name) + '=';
    for (const std::string_view choice : parameter.choices)
      texts.push_back(start + std::string(choice));
    if (parameter.choices.empty()) texts.push_back(start + std::to_string(parameter.minimum + 10));
  }
  return texts;
}

std::vector<Count> counts(Count ranks) { return {0, 1, ranks - 1, ranks, ranks + 1, 2500}; }

/// Sleeps of up to 1 ms, of no rank, one rank or all ranks.
std::vector<Seconds> random_arrivals(Random& random, int ranks) {
  std::vector<Seconds> arrivals(static_cast<std::size_t>(ranks), 0.0);
  const auto pattern = random.below(3);
  if (pattern == 1) arrivals[random.below(arrivals.size())] = 1e-3;
  if (pattern == 2)
    std::generate(arrivals.begin(), arrivals.end(), [&] { return random.uniform() * 1e-3; });
  return arrivals;
}

/// Tells the library the truth, nothing, or the reverse.
void announce(MPI_Comm comm, std::vector<Seconds> arrivals, std::uint64_t draw) {
  if (draw == 0) std::reverse(arrivals.begin(), arrivals.end());
  const bool nothing = draw == 1;
  CHECK_EQ(latecomer_set_arrivals(comm, nothing ? nullptr : arrivals.data(),
                                  static_cast<int>(arrivals.size())),
           MPI_SUCCESS);
}

/// Open MPI 4.1's own ring writes before its buffers where the lower bound is negative.
bool base_library_fails(const std::string& choice, const Kind& kind) {
  return (choice == "native" || choice.starts_with("auto")) && kind.name == "holes";
}

/// All, or, of a reduced set, those whose turn it is.
void sweep(const Context& context, const std::string& choice, const Kinds& kinds, Random& random) {
  const Communicator comm;
  CHECK_EQ(latecomer_set_algorithm(comm, "allreduce", choice.c_str()), MPI_SUCCESS);
  for (const Kind& kind : kinds.all()) {
    if (base_library_fails(choice, kind)) continue;
    for (const Count count : counts(context.ranks)) {
      for (const bool in_place : {false, true}) {
        Random own(random.next());  // so that the turn changes no other case
        if (!context.takes(own.next())) continue;
        const auto arrivals = random_arrivals(own, context.ranks);
        announce(comm, arrivals, own.below(4));
        try_allreduce(comm, kind,
                      {count, in_place, arrivals[static_cast<std::size_t>(context.rank)]},
                      own.next(), choice);
      }
    }
  }
}

MPI_TEST(every_algorithm_equals_the_reference) {
  const Kinds kinds;
  Random random(context.seed);
  for (const Algorithm& algorithm : registry(Collective::allreduce)) {
    for (const std::string& choice : choices(algorithm)) sweep(context, choice, kinds, random);
  }
}

/// Longer vectors than the transport sends eagerly, many calls without a barrier in between.
MPI_TEST(long_vectors_back_to_back) {
  const Kinds kinds;
  Random random(context.seed);
  for (const Algorithm& algorithm : registry(Collective::allreduce)) {
    const Communicator comm;
    latecomer_set_algorithm(comm, "allreduce", std::string(algorithm.name).c_str());
    for (int i = 0; i < (context.quick ? 2 : 4); ++i) {
      const bool in_place = i % 2 == 1;
      try_allreduce(comm, kinds.named("float sum"), {100000 + i, in_place, 0}, random.next(),
                    std::string(algorithm.name));
    }
  }
}

}  // namespace
}  // namespace latecomer::testing
