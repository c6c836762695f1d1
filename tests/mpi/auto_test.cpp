// Automatic choice: results are right whatever it chooses, and all ranks choose the same.
#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/reproducible.hpp"
#include "communicator.hpp"
#include "kinds.hpp"
#include "latecomer/latecomer_mpi.h"
#include "runner.hpp"
#include "runtime/attachment.hpp"
#include "try_reduction.hpp"

namespace latecomer::testing {
namespace {

void sleep(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

/// The library first, then others as often as they may pay: when, is a matter of clocks. That they
/// are tried at all is tested in virtual time (tests/unit/choose, tests/worlds).
MPI_TEST(an_automatic_choice_is_right_whatever_it_tries) {
  const Kinds kinds;
  // Other lengths: of calls of one kind the second communicator would know what the first learned.
  for (const auto& [kind, count] : {std::pair{"float sum", 100000}, std::pair{"int sum", 250000}}) {
    const Communicator comm;
    CHECK_EQ(latecomer_set_algorithm(comm, "allreduce", "auto"), MPI_SUCCESS);
    latecomer_stats stats{};
    std::uint64_t calls = 0;
    while (calls < 500 && (stats.handled < 1 || stats.native < 3)) {
      const Seconds late = context.rank == 0 ? 2e-3 : 0;  // waiting counts as time
      try_allreduce(comm, kinds.named(kind), {count, false, late}, context.seed + calls, "auto");
      latecomer_get_stats(comm, &stats);  // alike on all ranks
      if (++calls == 1 && context.ranks > 1) CHECK_EQ(stats.native, 1U);
      if (context.ranks == 1) break;
    }
    CHECK_EQ(stats.fallback_trivial, context.ranks == 1 ? 1U : 0U);
    CHECK_EQ(stats.handled + stats.native + stats.fallback_trivial, calls);
  }
}

/// Every call's arrivals become known, whatever executes it.
MPI_TEST(an_automatic_choice_finds_a_late_rank) {
  if (context.ranks < 2) return;
  const Kinds kinds;
  const Communicator comm;
  CHECK_EQ(latecomer_set_algorithm(comm, "allreduce", "auto"), MPI_SUCCESS);
  CHECK_EQ(latecomer_set_estimate(comm, "online"), MPI_SUCCESS);
  std::vector<double> expected(static_cast<std::size_t>(context.ranks));
  bool found = false;                                 // on all ranks alike
  for (int call = 0; call < 200 && !found; ++call) {  // few, unless something else holds ranks up
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

// --- At random ---

/// By the same arguments in each call: none may take the way of an earlier one for good.
MPI_TEST(a_choice_at_random_is_right_and_another_one_in_each_call) {
  if (context.ranks == 1) return;
  const std::string text = "auto:random=" + std::to_string(context.seed + 1);
  const Kinds kinds;
  for (const Count count : {1000, 40000}) {
    const Communicator comm;
    CHECK_EQ(latecomer_set_algorithm(comm, "allreduce", text.c_str()), MPI_SUCCESS);
    CHECK_EQ(latecomer_set_estimate(comm, "online"), MPI_SUCCESS);
    std::set<std::string> used;
    constexpr int kCalls = 40;
    for (int call = 0; call < kCalls; ++call) {
      try_allreduce(comm, kinds.named("int sum"), {count, false, 0}, context.seed + call, text);
      const std::string parameters = state_of(comm).parameters;  // "as=ring progress=background"
      used.insert(parameters.substr(0, parameters.find(' ')));
    }
    latecomer_stats stats{};
    latecomer_get_stats(comm, &stats);
    CHECK_EQ(stats.handled + stats.native, static_cast<std::uint64_t>(kCalls));
    CHECK_TEXT(used.size() >= 8, text + ": " + std::to_string(used.size()));
  }
}

MPI_TEST(a_choice_at_random_is_refused_in_reproducible_mode) {
  if (context.ranks == 1) return;
  const Kinds kinds;
  const Communicator comm;
  CHECK_EQ(latecomer_set_algorithm(comm, "allreduce", "auto:random=1"), MPI_SUCCESS);
  CHECK_EQ(latecomer_set_reproducible(comm, 1), MPI_SUCCESS);
  try_allreduce(comm, kinds.named("int sum"), {100, false, 0}, context.seed, "reproducible");
  latecomer_stats stats{};
  latecomer_get_stats(comm, &stats);
  CHECK_EQ(stats.fallback_plan, 1U);
  CHECK_TEXT(std::string(last_error()).find("'auto:random=1'") != std::string::npos, last_error());
}

// --- Protocols ---

constexpr int kParts = 10000;  // of an element: nothing cuts it

void add_elements(void* left, void* right, int* count, MPI_Datatype* /*type*/) {
  auto* const a = static_cast<std::uint64_t*>(left);
  auto* const b = static_cast<std::uint64_t*>(right);
  for (int i = 0; i < *count * kParts; ++i) b[i] += a[i];
}

/// One element a rank, to `root`.
void reduce_element(MPI_Comm comm, MPI_Datatype element, MPI_Op op, int root, std::uint64_t seed,
                    const Context& context) {
  std::vector<std::uint64_t> mine(kParts), got(kParts), sum(kParts);
  for (int rank = 0; rank < context.ranks; ++rank) {
    Random random(seed + static_cast<std::uint64_t>(rank));
    for (int i = 0; i < kParts; ++i) {
      const std::uint64_t value = random.next();
      sum[i] += value;
      if (rank == context.rank) mine[i] = value;
    }
  }
  CHECK_EQ(latecomer_reduce(mine.data(), got.data(), 1, element, op, root, comm), MPI_SUCCESS);
  if (context.rank == root) CHECK(got == sum);
}

/// Elements that nothing cuts, to a root, while another rank is late in each call: so that
/// protocols are drawn, and clocks decide what they do.
MPI_TEST(a_choice_at_random_among_protocols_is_right) {
  MPI_Datatype element = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(kParts, MPI_UINT64_T, &element);
  MPI_Type_commit(&element);
  for (const int commutes : {0, 1}) {
    MPI_Op op = MPI_OP_NULL;
    MPI_Op_create(add_elements, commutes, &op);
    for (int draw = 0; draw < 2; ++draw) {  // half of the seeds have announced calls
      const Communicator comm;
      Random shared(context.seed + static_cast<std::uint64_t>(draw));
      const std::string text = "auto:random=" + std::to_string(1 + shared.below(1000));
      CHECK_EQ(latecomer_set_algorithm(comm, "reduce", text.c_str()), MPI_SUCCESS);
      constexpr int kCalls = 40;
      for (int call = 0; call < kCalls; ++call) {
        const auto late = shared.below(static_cast<std::uint64_t>(context.ranks));
        const std::uint64_t seed = shared.next();
        if (late == static_cast<std::uint64_t>(context.rank)) sleep(2e-3);
        reduce_element(comm, element, op, context.ranks - 1, seed, context);
      }
      latecomer_stats stats{};
      latecomer_get_stats(comm, &stats);
      CHECK_EQ(stats.failed, 0U);
      const std::uint64_t trivial = context.ranks == 1 ? kCalls : 0;
      CHECK_EQ(stats.fallback_trivial, trivial);
      if (context.ranks > 1) CHECK_TEXT(stats.handled > 0, text);
    }
    MPI_Op_free(&op);
  }
  MPI_Type_free(&element);
}

}  // namespace
}  // namespace latecomer::testing
