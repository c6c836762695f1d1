// Automatic choice: results are right whatever it chooses, and all ranks choose the same.
#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "base/random.hpp"
#include "communicator.hpp"
#include "kinds.hpp"
#include "latecomer/latecomer_mpi.h"
#include "runner.hpp"
#include "runtime/comm_state.hpp"
#include "try_reduction.hpp"

namespace latecomer::testing {
namespace {

void sleep(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

MPI_TEST(an_automatic_choice_tries_both_and_is_right) {
  const Kinds kinds;
  for (const char* kind : {"float sum", "int sum"}) {
    const Communicator comm;
    CHECK_EQ(latecomer_set_algorithm(comm, "allreduce", "auto"), MPI_SUCCESS);
    for (int call = 0; call < 12; ++call) {
      try_allreduce(comm, kinds.named(kind), {5000, false, 0}, context.seed + call, "auto");
    }
    latecomer_stats stats{};
    latecomer_get_stats(comm, &stats);
    if (context.ranks == 1) {
      CHECK_EQ(stats.fallback_trivial, 12U);
      continue;
    }
    CHECK(stats.handled >= 2);
    CHECK(stats.native >= 1);
    CHECK_EQ(stats.handled + stats.native, 12U);
  }
}

/// Whoever carries calls out tells of the arrivals.
MPI_TEST(an_automatic_choice_finds_a_late_rank) {
  if (context.ranks < 2) return;
  const Kinds kinds;
  const Communicator comm;
  CHECK_EQ(latecomer_set_algorithm(comm, "allreduce", "auto"), MPI_SUCCESS);
  CHECK_EQ(latecomer_set_estimate(comm, "online"), MPI_SUCCESS);
  std::vector<double> expected(static_cast<std::size_t>(context.ranks));
  bool found = false;
  for (int call = 0; call < 12; ++call) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (context.rank == 1) sleep(0.05);
    try_allreduce(comm, kinds.named("float sum"), {20000, false, 0}, context.seed, "auto");
    CHECK_EQ(latecomer_get_pattern(comm, nullptr, expected.data(), context.ranks), MPI_SUCCESS);
    found = found || std::max_element(expected.begin(), expected.end()) - expected.begin() == 1;
  }
  CHECK(found);
}

/// Sizes, delays and operators at random: results are checked, and that plans agree by their hash.
MPI_TEST(an_automatic_choice_is_the_same_on_all_ranks) {
  const Kinds kinds;
  const Communicator comm;
  CHECK_EQ(latecomer_set_algorithm(comm, "allreduce", "auto"), MPI_SUCCESS);
  CHECK_EQ(latecomer_set_estimate(comm, "online"), MPI_SUCCESS);
  Random shared(context.seed), own(context.seed + 1000 + context.rank);
  for (int call = 0; call < 60; ++call) {
    const char* const names[] = {"float sum", "int sum"};
    const Count counts[] = {1, 7, 900, 30000};
    const auto kind = names[shared.next() % 2];
    const Count count = counts[shared.next() % 4];
    if (own.next() % 4 == 0) sleep(2e-3 * own.uniform());
    try_allreduce(comm, kinds.named(kind), {count, call % 5 == 0, 0}, context.seed + call, "auto");
  }
  latecomer_stats stats{};
  latecomer_get_stats(comm, &stats);
  CHECK_EQ(stats.failed, 0U);
}

MPI_TEST(an_automatic_choice_keeps_rank_order) {
  const Kinds kinds;
  const Communicator comm;
  CHECK_EQ(latecomer_set_algorithm(comm, "allreduce", "auto"), MPI_SUCCESS);
  for (int call = 0; call < 8; ++call) {
    for (const Kind& kind : kinds.all()) {
      if (kind.commutative) continue;
      try_allreduce(comm, kind, {100, false, 0}, context.seed + call, "auto");
    }
  }
}

}  // namespace
}  // namespace latecomer::testing
