// Recursive doubling: in each of log2 P rounds a rank exchanges its whole partial result with the
// rank whose number differs in one bit. Ranks beyond a power of two send their data to a neighbour
// first and receive the result last.
//
// Cost: log2 P (alpha + m beta + m gamma), for other P floor(log2 P) + 2 rounds. Use it for short
// vectors. Keeps rank order: both partners of an exchange compute the same bits.
// Source: Thakur, Rabenseifner, Gropp: Optimization of collective communication operations in
// MPICH, Int. J. High Perform. Comput. Appl. 19 (2005).
#include "algorithms/allreduce/folded.hpp"
#include "algorithms/row.hpp"

namespace latecomer::allreduce {
namespace {

void exchange_all(const PowerOfTwoGroup& folded, const Plan& plan, Builder& builder) {
  const Range all{0, plan.problem.count};
  Slice value = builder.input(all);
  const Slice spares[2] = {builder.output(all), builder.scratch(all.count)};
  const Rank me = builder.me();
  // Receives go to the slice that does not hold the value.
  const auto landing = [&] { return value.buffer == spares[0].buffer ? spares[1] : spares[0]; };
  // Own data that must be moved to stand on the right go to the slice that is free.
  const auto spare = [&] { return landing() == spares[0] ? spares[1] : spares[0]; };
  const auto side = [&](Rank peer) { return peer < me ? Received::left : Received::right; };
  if (folded.is_proxy(me)) {
    builder.recv(me - 1, landing());
    value = builder.fold(landing(), Received::left, value, spare());
  }
  for (Rank mask = 1; mask < folded.core; mask *= 2) {
    const Rank peer = folded.rank(folded.position(me) ^ mask);
    builder.send(peer, value);
    builder.recv(peer, landing());
    value = builder.fold_in_order(landing(), side(peer), value, spare());
  }
  builder.copy(value, builder.output(all));
}

void build(const Plan& plan, Builder& builder) { build_folded(plan, builder, exchange_all); }

Cost cost(const Plan& plan) {
  const PowerOfTwoGroup folded(plan.problem.ranks);
  const Count m = plan.problem.count;
  const Cost exchanges{folded.log2, folded.log2 * m, folded.log2 * m, folded.log2 * m};
  return folded.extra == 0 ? exchanges : exchanges + Cost{2, 2 * m, m};
}

}  // namespace

LATECOMER_ROW(allreduce, recursive_doubling) {
  return {.cost_formula = "log2 P (alpha + m beta + m gamma); two rounds more for other P",
          .source = "Thakur, Rabenseifner and Gropp 2005",
          .build = build,
          .cost = cost,
          .informs_all = always_informs};
}

}  // namespace latecomer::allreduce
