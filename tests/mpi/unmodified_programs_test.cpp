// Programs that were not written for latecomer, with every collective chosen automatically: nothing
// waits that does not wait with the MPI library alone, and nothing is made that is not worth it.

#include <array>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "allocations.hpp"
#include "communicator.hpp"
#include "latecomer/latecomer_mpi.h"
#include "runner.hpp"
#include "runtime/attachment.hpp"
#include "runtime/connection/predecessors.hpp"
#include "variable.hpp"

namespace latecomer::testing {
namespace {

constexpr const char* kNames[] = {"allreduce", "allgather", "bcast", "gather", "reduce", "scatter"};
constexpr int kTag = 77;

/// As the drop-in would set it.
void choose_all(MPI_Comm comm) {
  for (const char* const collective : kNames) {
    CHECK_EQ(latecomer_set_algorithm(comm, collective, "auto"), MPI_SUCCESS);
  }
  CHECK_EQ(latecomer_set_estimate(comm, "online"), MPI_SUCCESS);
}

Communicator chosen() {
  Communicator comm;
  choose_all(comm);
  return comm;
}

void sleep(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

void pass(const Context& context, int from, int to) {
  int word = 1;
  if (context.rank == from) MPI_Send(&word, 1, MPI_INT, to, kTag, MPI_COMM_WORLD);
  if (context.rank == to) {
    MPI_Recv(&word, 1, MPI_INT, from, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

/// Each rank frees another one first; the last one frees when rank 0 has freed both.
MPI_TEST(freeing_a_communicator_waits_for_nobody) {
  if (context.ranks == 1) return;
  for (const bool handled : {false, true}) {
    MPI_Comm one = MPI_COMM_NULL;
    MPI_Comm other = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &one);
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    for (const MPI_Comm comm : {one, other}) {
      choose_all(comm);
      if (handled) {
        CHECK_EQ(latecomer_set_algorithm(comm, "reduce", "local_redirect"), MPI_SUCCESS);
      }
      int mine = 1;
      int sum = 0;
      for (int call = 0; call < 3; ++call) {
        CHECK_EQ(latecomer_reduce(&mine, &sum, 1, MPI_INT, MPI_SUM, 0, comm), MPI_SUCCESS);
      }
    }
    const int last = context.ranks - 1;
    if (context.rank == last) pass(context, 0, last);
    MPI_Comm_free(context.rank % 2 == 0 ? &one : &other);
    MPI_Comm_free(context.rank % 2 == 0 ? &other : &one);
    if (context.rank == 0) pass(context, 0, last);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

#ifdef MPICH
constexpr int kPieces = 3;  // MPICH 5 itself lets a root no further ahead over shared memory
#else
constexpr int kPieces = 40;
#endif

/// The last rank, a leaf, takes nothing before the root has sent all.
MPI_TEST(a_root_of_short_broadcasts_waits_for_nobody) {
  if (context.ranks == 1) return;
  const Communicator comm = chosen();
  const int last = context.ranks - 1;
  std::array<double, 200> piece{};
  if (context.rank == last) pass(context, 0, last);
  for (int i = 0; i < kPieces; ++i) {
    const int count = 100 + i;  // sizes that never repeat
    if (context.rank == 0) piece.fill(i);
    CHECK_EQ(latecomer_bcast(piece.data(), count, MPI_DOUBLE, 0, comm), MPI_SUCCESS);
    CHECK_EQ(piece[0], i);
  }
  if (context.rank == 0) pass(context, 0, last);
}

/// MPI forbids it, and both libraries let it pass.
MPI_TEST(a_message_may_come_between_broadcasts_in_another_order) {
  if (context.ranks == 1) return;
  const Communicator comm = chosen();
  double value = 1;
  int word = 1;
  CHECK_EQ(latecomer_bcast(&value, 1, MPI_DOUBLE, 0, comm), MPI_SUCCESS);
  if (context.rank == 0) {
    CHECK_EQ(latecomer_bcast(&value, 1, MPI_DOUBLE, 0, comm), MPI_SUCCESS);
    for (int to = 1; to < context.ranks; ++to) MPI_Send(&word, 1, MPI_INT, to, kTag, comm);
    return;
  }
  MPI_Recv(&word, 1, MPI_INT, 0, kTag, comm, MPI_STATUS_IGNORE);
  CHECK_EQ(latecomer_bcast(&value, 1, MPI_DOUBLE, 0, comm), MPI_SUCCESS);
}

/// Fewer than are compared: how long calls take on a busy machine does not matter.
MPI_TEST(a_few_short_calls_make_nothing) {
  const Communicator comm = chosen();
  std::vector<double> in(1000, 1.0);
  std::vector<double> out(in.size());
  for (int i = 0; i < 7; ++i) {
    CHECK_EQ(latecomer_allreduce(in.data(), out.data(), 1, MPI_DOUBLE, MPI_SUM, comm), MPI_SUCCESS);
    CHECK_EQ(out[0], context.ranks);
  }
  for (int i = 0; i < 300; ++i) {
    out[0] = i;
    CHECK_EQ(latecomer_bcast(out.data(), 1 + i, MPI_DOUBLE, i % context.ranks, comm), MPI_SUCCESS);
    CHECK_EQ(out[0], i);
  }
  const CommState& state = state_of(comm);
  CHECK(state.resources == nullptr);
  CHECK(state.chooser.watch() == nullptr);
  CHECK_EQ(state.chooser.plans().plans_made(), 0U);
}

/// Sizes from data: 400 calls, no two alike. tests/unit/choose tests the plans.
MPI_TEST(sizes_that_never_repeat_are_right) {
  if (context.ranks == 1) return;
  const Communicator comm = chosen();
  std::vector<double> in(3000, 1.0);
  std::vector<double> out(in.size());
  for (int i = 0; i < 400; ++i) {
    CHECK_EQ(latecomer_allreduce(in.data(), out.data(), 2000 + i, MPI_DOUBLE, MPI_SUM, comm),
             MPI_SUCCESS);
    CHECK_EQ(out[0], context.ranks);
    CHECK_EQ(out[static_cast<std::size_t>(1999 + i)], context.ranks);
  }
}

/// All sizes and lateness at random, on several communicators that come and go.
MPI_TEST(a_stranger_gets_the_librarys_results) {
  std::vector<std::unique_ptr<Communicator>> comms;
  std::uint64_t state = 12345;
  const auto next = [&state] {
    return state = state * 6364136223846793005U + 1442695040888963407U;
  };
  for (int i = 0; i < 120; ++i) {
    if (comms.size() < 3) comms.push_back(std::make_unique<Communicator>(chosen()));
    const auto which = static_cast<std::size_t>(next() >> 33) % comms.size();
    const int count = 1 + static_cast<int>((next() >> 33) % (i % 10 == 0 ? 300000 : 3000));
    const int root = static_cast<int>((next() >> 33) % static_cast<unsigned>(context.ranks));
    const auto kind = (next() >> 33) % 4;
    if ((next() >> 33) % static_cast<unsigned>(context.ranks) ==
        static_cast<unsigned>(context.rank)) {
      sleep(2e-3);
    }
    std::vector<std::int64_t> in(static_cast<std::size_t>(count), context.rank + i);
    std::vector<std::int64_t> out(in.size());
    const MPI_Comm comm = *comms[which];
    std::int64_t sum = 0;
    for (int rank = 0; rank < context.ranks; ++rank) sum += rank + i;
    if (kind == 0) {
      latecomer_allreduce(in.data(), out.data(), count, MPI_INT64_T, MPI_SUM, comm);
    } else if (kind == 1) {
      latecomer_allreduce(MPI_IN_PLACE, in.data(), count, MPI_INT64_T, MPI_SUM, comm);
      out = in;
    } else if (kind == 2) {
      latecomer_reduce(in.data(), out.data(), count, MPI_INT64_T, MPI_SUM, root, comm);
      if (context.rank != root) out.assign(out.size(), sum);
    } else {
      latecomer_bcast(in.data(), count, MPI_INT64_T, root, comm);
      out = in;
      sum = root + i;
    }
    CHECK(out == std::vector<std::int64_t>(out.size(), sum));
    if (i % 20 == 19) comms.erase(comms.begin() + static_cast<std::ptrdiff_t>(which));
  }
}

// --- Communicators ---

int last_call(MPI_Comm comm, int, void* result, void*) {
  int mine = 1;
  *static_cast<int*>(result) = 0;
  return latecomer_allreduce(&mine, static_cast<int*>(result), 1, MPI_INT, MPI_SUM, comm);
}

/// Attributes may go in any order: the state may have gone before it.
MPI_TEST(a_delete_function_may_make_a_last_call) {
  int keyval = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, last_call, &keyval, nullptr);
  for (int i = 0; i < 100; ++i) {
    int result = -1;
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_attr(comm, keyval, &result);
    choose_all(comm);
    int mine = 1;
    int sum = 0;
    CHECK_EQ(latecomer_allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm), MPI_SUCCESS);
    MPI_Comm_free(&comm);
    CHECK_EQ(result, context.ranks);
  }
  MPI_Comm_free_keyval(&keyval);
}

MPI_TEST(links_are_made_for_few_communicators_only) {
  if (context.ranks != 2) return;
  std::vector<Communicator> comms;
  std::vector<double> in(200000, 1.0);
  std::vector<double> out(in.size());
  int with_resources = 0;
  for (int i = 0; i < 300; ++i) {
    comms.push_back(Communicator());
    CHECK_EQ(latecomer_set_algorithm(comms.back(), "allreduce", "auto"), MPI_SUCCESS);
    for (int call = 0; call < 3; ++call) {
      CHECK_EQ(latecomer_allreduce(in.data(), out.data(), call == 0 ? 1 : 200000, MPI_DOUBLE,
                                   MPI_SUM, comms.back()),
               MPI_SUCCESS);
    }
    with_resources += state_of(comms.back()).resources ? 1 : 0;
  }
  CHECK(with_resources <= 256);
}

/// 64 KiB and 64 bytes a rank, whatever it calls.
MPI_TEST(a_communicator_that_is_only_watched_takes_little_memory) {
  constexpr std::size_t kMax = std::size_t{64} << 10;
  std::vector<Communicator> comms(20);
  std::vector<double> in(500, 1.0);
  std::vector<double> out(in.size());
  const auto calls = [&](MPI_Comm comm, bool ours) {
    for (int count = 1; count <= 100; ++count) {
      if (ours) {
        latecomer_allreduce(in.data(), out.data(), count, MPI_DOUBLE, MPI_SUM, comm);
      } else {
        PMPI_Allreduce(in.data(), out.data(), count, MPI_DOUBLE, MPI_SUM, comm);
      }
    }
  };
  for (const Communicator& comm : comms) calls(comm, false);
  const std::size_t before = bytes_in_use();
  for (const Communicator& comm : comms) {
    choose_all(comm);
    calls(comm, true);
  }
  bool has_resources = false;
  for (const Communicator& comm : comms) has_resources = has_resources || state_of(comm).resources;
  if (has_resources) return;  // on a busy machine short calls take long
  const std::size_t each = (bytes_in_use() - before) / comms.size();
  CHECK_TEXT(each < kMax + 64 * static_cast<std::size_t>(context.ranks),
             std::to_string(each) + " bytes");
}

/// 256 KiB and 256 bytes a rank, with eight kinds of calls that are decided about.
MPI_TEST(a_communicator_that_is_used_takes_little_memory) {
  if (context.ranks == 1) return;
  // A progress thread begins the next call ahead of its arrival, and holds scratch for it.
  const Variable alone("LATECOMER_PROGRESS", "none");
  constexpr std::int64_t kMax = std::int64_t{320} << 10;  // 8 classes, two plans each
  const Count largest = Count{1} << 17;
  const std::vector<double> in(static_cast<std::size_t>(largest), 1.0);
  std::vector<double> out(in.size());
  const auto calls = [&](MPI_Comm comm, bool ours) {
    for (int call = 0; call < 60; ++call) {
      for (int kind = 0; kind < 8; ++kind) {
        const auto count = static_cast<int>(largest >> kind);
        if (ours) {
          latecomer_allreduce(in.data(), out.data(), count, MPI_DOUBLE, MPI_SUM, comm);
        } else {
          PMPI_Allreduce(in.data(), out.data(), count, MPI_DOUBLE, MPI_SUM, comm);
        }
      }
    }
  };
  {
    const Communicator first;  // for the memory that the process needs once
    choose_all(first);
    calls(first, true);
  }
  forget_predecessors();
  const Communicator comm;
  calls(comm, false);
  // All communicators share scratch. The process may free scratch of earlier tests meanwhile.
  const auto without_scratch = [] {
    return static_cast<std::int64_t>(bytes_in_use() - Scratch::unused() - Staging::unused());
  };
  const std::int64_t before = without_scratch();
  choose_all(comm);
  // On a fast machine it takes more calls until they have taken long enough for a choice.
  for (int tries = 0; state_of(comm).resources == nullptr && tries < 2000; ++tries)
    calls(comm, true);
  CHECK(state_of(comm).resources != nullptr);
  const std::int64_t most = kMax + 256 * std::int64_t{context.ranks};
  const std::int64_t used = without_scratch() - before;
  CHECK_TEXT(used < most, std::to_string(used) + " bytes, of them plans " +
                              std::to_string(state_of(comm).chooser.plans().bytes()));
}

// --- Allocations ---

MPI_TEST(a_handled_call_allocates_nothing) {
  if (context.ranks == 1) return;
  for (const char* const algorithm : {"ring", "recursive_doubling", "sorted_linear_tree"}) {
    enum class Estimate { given, online, late };
    for (const Estimate estimate : {Estimate::given, Estimate::online, Estimate::late}) {
      const bool online = estimate != Estimate::given;
      const bool comes_late = estimate == Estimate::late && context.rank == 0;
      const Communicator comm;
      CHECK_EQ(latecomer_set_algorithm(comm, "allreduce", algorithm), MPI_SUCCESS);
      if (online) CHECK_EQ(latecomer_set_estimate(comm, "online"), MPI_SUCCESS);
      std::vector<double> in(2000, 1.0);
      std::vector<double> out(in.size());
      const auto call = [&] {
        if (comes_late) sleep(1e-3);  // and is expected late
        return latecomer_allreduce(in.data(), out.data(), 2000, MPI_DOUBLE, MPI_SUM, comm);
      };
      for (int i = 0; i < 200; ++i) CHECK_EQ(call(), MPI_SUCCESS);
      if (state_of(comm).async_progress) continue;  // its messages are texts
      const std::size_t made = fewest_allocations(100, call);
      CHECK_TEXT(made == 0, std::string(algorithm) + (online ? ", online: " : ": ") +
                                std::to_string(made) + " allocations a call");
    }
  }
}

MPI_TEST(a_call_of_the_library_allocates_nothing) {
  const Communicator comm = chosen();
  double in = 1;
  double out = 0;
  const auto call = [&] { return latecomer_allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, comm); };
  for (int i = 0; i < 200; ++i) CHECK_EQ(call(), MPI_SUCCESS);
  CHECK_EQ(fewest_allocations(100, call), 0U);
}

}  // namespace
}  // namespace latecomer::testing
