// Online owners among nodes over MPI, on nodes of two or three ranks.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "captured_stderr.hpp"
#include "communicator.hpp"
#include "latecomer/latecomer_mpi.h"
#include "runner.hpp"
#include "runtime/attachment.hpp"
#include "runtime/call/run.hpp"
#include "try_reduction.hpp"
#include "variable.hpp"
#include "with_thread.hpp"

namespace latecomer::testing {
namespace {

/// A communicator whose all-reduces run on nodes of so many ranks. Blocks are few, so that short
/// vectors have several.
struct OnlineNodes {
  explicit OnlineNodes(const std::string& per_node, const std::string& parameters = ":blocks=6")
      : nodes("LATECOMER_NODES", per_node) {
    CHECK_EQ(latecomer_set_algorithm(comm, "allreduce", ("online_nodes" + parameters).c_str()),
             MPI_SUCCESS);
  }

  Variable nodes;
  Communicator comm = Communicator::returning_errors();
};

MPI_TEST(online_nodes_are_right_for_all_kinds) {
  const Kinds kinds;
  std::uint64_t seed = context.seed;
  for (const std::string nodes : {"2", "3"}) {
    const OnlineNodes on(nodes);
    std::uint64_t taken = 0;
    for (const Kind& kind : kinds.all()) {
      for (const Count count : {0, 1, 7, 3000}) {
        for (const bool in_place : {false, true}) {
          try_allreduce(on.comm, kind, {count, in_place}, ++seed, kind.name + " nodes=" + nodes);
          if (kind.commutative && count > 0) ++taken;
        }
      }
    }
    if (context.ranks > 1) CHECK_EQ(stats_of(on.comm).handled, taken);
    if (context.ranks > 2) CHECK(state_of(on.comm).resources->shares_memory);
  }
}

MPI_TEST(ranks_come_late_to_online_nodes) {
  const Kinds kinds;
  Random random(context.seed + static_cast<std::uint64_t>(context.rank));
  for (const std::string nodes : {"2", "3"}) {
    const OnlineNodes on(nodes);
    for (int call = 0; call < (context.quick ? 10 : 30); ++call) {
      const Count count = call % 3 == 0 ? 40000 : 100;
      const double sleep = random.below(2) == 0 ? 3e-3 * random.uniform() : 0;
      try_allreduce(on.comm, kinds.named("float sum"), {count, call % 2 == 0, sleep},
                    context.seed + static_cast<std::uint64_t>(call), nodes);
    }
  }
}

/// Sums of floating-point numbers depend on the order, and that on the arrivals.
MPI_TEST(online_nodes_give_all_ranks_the_same_bits) {
  Random random(context.seed * 77 + static_cast<std::uint64_t>(context.rank));
  const OnlineNodes on("2");
  for (int call = 0; call < 10; ++call) {
    std::vector<double> all(2000);
    for (double& each : all)
      each = std::ldexp(random.uniform() - 0.5, static_cast<int>(random.below(80)));
    if (random.below(2) == 0) std::this_thread::sleep_for(std::chrono::microseconds(500));
    CHECK_EQ(latecomer_allreduce(MPI_IN_PLACE, all.data(), 2000, MPI_DOUBLE, MPI_SUM, on.comm),
             MPI_SUCCESS);
    std::vector<double> first = all;
    MPI_Bcast(first.data(), 2000, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    CHECK(all == first);
  }
}

/// Vectors longer than the buffer of a node run as the row of nodes does.
MPI_TEST(online_nodes_leave_longer_vectors_to_nodes) {
  if (context.ranks < 3 || context.quick) return;
  const OnlineNodes on("2");
  const int longest = kMaxNodeBytes / 8;
  for (const int count : {longest, longest + 1000}) {
    std::vector<std::int64_t> all(static_cast<std::size_t>(count), context.rank + 1);
    CHECK_EQ(latecomer_allreduce(MPI_IN_PLACE, all.data(), count, MPI_INT64_T, MPI_SUM, on.comm),
             MPI_SUCCESS);
    const std::int64_t sum = context.ranks * (context.ranks + 1) / 2;
    CHECK_EQ(std::count(all.begin(), all.end(), sum), count);
    const std::string parameters = state_of(on.comm).parameters;
    CHECK_TEXT((parameters.find("as=nodes") != std::string::npos) == (count > longest), parameters);
  }
}

struct OnlineEnd {
  int code;
  std::string error;
  std::string log;
};

OnlineEnd online_call(MPI_Comm comm, int count) {
  std::vector<int> mine(static_cast<std::size_t>(count), 1), result(mine);
  CapturedStderr captured;
  const int code = latecomer_allreduce(mine.data(), result.data(), count, MPI_INT, MPI_SUM, comm);
  return {code, latecomer_last_error(), captured.text()};
}

/// Each rank believes that it drives its node.
MPI_TEST(online_nodes_with_different_plans_are_named) {
  if (context.ranks < 3 || with_thread()) return;
  const OnlineNodes on("2", "");
  latecomer_set_long_wait(on.comm, 0.2);
  MPI_Barrier(MPI_COMM_WORLD);
  std::vector<double> arrivals(static_cast<std::size_t>(context.ranks), 1.0);
  arrivals[static_cast<std::size_t>(context.rank)] = 0;
  latecomer_set_arrivals(on.comm, arrivals.data(), context.ranks);
  const OnlineEnd ended = online_call(on.comm, 100000);
  CHECK_EQ(ended.code, disagreement_class());
  const int named = ended.error.find("follows another plan") != std::string::npos ? 1 : 0;
  int anybody = 0;
  MPI_Allreduce(&named, &anybody, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  CHECK_EQ(anybody, 1);
}

MPI_TEST(long_waits_of_online_nodes_say_for_what) {
  if (context.ranks < 3 || with_thread()) return;
  const OnlineNodes on("2");
  CHECK_EQ(online_call(on.comm, 1000).code, MPI_SUCCESS);
  latecomer_set_long_wait(on.comm, 0.2);  // no rank waits so long for another by chance
  MPI_Barrier(MPI_COMM_WORLD);
  const int late = context.ranks - 1;
  if (context.rank == late) std::this_thread::sleep_for(std::chrono::seconds(1));
  const OnlineEnd ended = online_call(on.comm, 1000);
  CHECK_EQ(ended.code, MPI_SUCCESS);
  if (context.rank == 0) {
    const std::string words = "for the arrival of node " + std::to_string(late / 2);
    CHECK_TEXT(ended.log.find(words) != std::string::npos, ended.log);
  }
  if (late % 2 == 1 && context.rank == late - 1) {
    CHECK_TEXT(ended.log.find("for the sum of its node, of which 0 of") != std::string::npos,
               ended.log);
    const std::string words = "for rank " + std::to_string(late) + " of its node to enter the call";
    CHECK_TEXT(ended.log.find(words) != std::string::npos, ended.log);
  }
}

}  // namespace
}  // namespace latecomer::testing
