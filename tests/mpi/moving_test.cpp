// Broadcast, gather, all-gather and scatter, and reduce: every registered algorithm x counts x
// roots x in place or not x datatypes x arrivals x estimates, right or wrong.
#include <algorithm>
#include <set>

#include "algorithms/registry.hpp"
#include "communicator.hpp"
#include "latecomer/latecomer_mpi.h"
#include "try_moving.hpp"
#include "try_reduction.hpp"

namespace latecomer::testing {
namespace {

std::set<int> roots(Collective collective, int ranks) {
  if (!rooted(collective)) return {0};
  return {0, ranks / 2, ranks - 1};
}

/// No rank, one rank or all ranks sleep; the announced arrivals may be wrong.
Seconds arrive_somehow(const Context& context, MPI_Comm comm, Random& random) {
  std::vector<Seconds> arrivals(static_cast<std::size_t>(context.ranks), 0.0);
  const auto pattern = random.below(3);
  if (pattern == 1) arrivals[random.below(arrivals.size())] = 1e-3;
  if (pattern == 2) {
    std::generate(arrivals.begin(), arrivals.end(), [&] { return random.uniform() * 1e-3; });
  }
  const Seconds sleep = arrivals[static_cast<std::size_t>(context.rank)];
  if (random.below(4) == 0) std::reverse(arrivals.begin(), arrivals.end());
  CHECK_EQ(latecomer_set_arrivals(comm, arrivals.data(), context.ranks), MPI_SUCCESS);
  return sleep;
}

void move_everything(const Context& context, MPI_Comm comm, const Algorithm& row, Random& random) {
  const Collective collective = row.collective;
  for (const Count count : {0, 1, 2, 7, context.quick ? 500 : 6000}) {
    for (const int root : roots(collective, context.ranks)) {
      for (const bool in_place : {false, true}) {
        for (const bool uneven : {false, true}) {
          const bool skip = (in_place && collective == Collective::bcast) ||
                            (uneven && collective != Collective::allgather);
          if (skip) continue;
          Random own(random.next());  // so that the turn changes no other case
          const bool surely = count > 7 && root == 0 && !in_place && !uneven;  // try_all counts it
          if (!context.takes(own.next()) && !surely) continue;
          const Seconds sleep = arrive_somehow(context, comm, own);
          try_moving(comm, {collective, count, root, in_place, uneven, sleep}, own.next(),
                     std::string(row.name));
        }
      }
    }
  }
}

void reduce_everything(const Context& context, MPI_Comm comm, const Algorithm& row,
                       Random& random) {
  const Kinds kinds;
  for (const Kind& kind : kinds.all()) {
    if (row.kind == latecomer::Kind::native && kind.name == "holes") continue;  // as in all-reduce
    for (const Count count : {Count{0}, Count{1}, Count{context.ranks} + 1, Count{2500}}) {
      for (const int root : roots(Collective::reduce, context.ranks)) {
        Random own(random.next());
        if (!context.takes(own.next())) continue;
        const bool in_place = own.below(2) == 0;
        const Seconds sleep = arrive_somehow(context, comm, own);
        try_reduce(comm, kind, {count, in_place, sleep, root}, own.next(), std::string(row.name));
      }
    }
  }
}

void try_all(const Context& context, const Algorithm& row, Random& random) {
  const Communicator comm;
  const std::string collective(to_string(row.collective));
  CHECK_EQ(latecomer_set_algorithm(comm, collective.c_str(), std::string(row.name).c_str()),
           MPI_SUCCESS);
  if (row.collective == Collective::reduce) {
    reduce_everything(context, comm, row, random);
  } else {
    move_everything(context, comm, row, random);
  }
  latecomer_stats stats{};
  latecomer_get_stats(comm, &stats);
  CHECK_EQ(stats.failed, 0U);
  if (row.name == "auto") return;  // may leave few calls to the library
  if (context.ranks > 1) CHECK_EQ(stats.handled > 0, row.kind != latecomer::Kind::native);
}

MPI_TEST(every_collective_equals_the_reference) {
  Random random(context.seed);
  for (const Algorithm& row : registry()) {
    if (row.collective != Collective::allreduce) try_all(context, row, random);
  }
}

/// Arrivals are found out; rooted calls tell of them now and then.
MPI_TEST(every_collective_is_right_online) {
  Random random(context.seed);
  for (const Collective collective : all_collectives()) {
    if (collective == Collective::allreduce || combines(collective)) continue;
    const Communicator comm;
    latecomer_set_algorithm(comm, std::string(to_string(collective)).c_str(), "auto");
    latecomer_set_estimate(comm, "online");
    for (int i = 0; i < 20; ++i) {
      const Seconds sleep = context.rank == i / 10 ? 1e-3 : 0;
      try_moving(comm, {collective, 3000, i % context.ranks, false, false, sleep}, random.next(),
                 "online");
    }
    latecomer_stats stats{};
    latecomer_get_stats(comm, &stats);
    CHECK_EQ(stats.handled + stats.native, context.ranks > 1 ? 20U : 0U);
  }
}

}  // namespace
}  // namespace latecomer::testing
