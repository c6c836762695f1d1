// Runs algorithms for a power of two on any number of ranks.
#pragma once

#include "algorithms/registry.hpp"
#include "patterns/powers.hpp"

namespace latecomer::allreduce {

/// Writes one rank's operations. `core` writes those of a core rank; it combines the data of the
/// rank that it hosts, if any, and leaves the result in the output. The ranks beyond the power of
/// two first send their data to the neighbour that hosts them, and receive the result last.
inline void build_folded(const Plan& plan, Builder& builder,
                         void (*core)(const PowerOfTwoGroup& folded, const Plan& plan,
                                      Builder& builder)) {
  const PowerOfTwoGroup folded(plan.problem.ranks);
  const Range all{0, plan.problem.count};
  const Rank me = builder.me();
  if (folded.is_folded(me)) {
    builder.send(me + 1, builder.input(all));
    builder.recv(me + 1, builder.output(all));
    return;
  }
  core(folded, plan, builder);
  if (folded.is_proxy(me)) builder.send(me - 1, builder.output(all));
}

}  // namespace latecomer::allreduce
