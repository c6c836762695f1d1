// A rank that is killed or stopped, while all others do what they would do anyway.
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include "latecomer/latecomer_mpi.h"
#include "runtime/attachment.hpp"
#include "runtime/progress/async_progress.hpp"
#include "scenes.hpp"

namespace scenes {
namespace {

constexpr int kVictim = 1;
constexpr int kElements = 1 << 15;  // with a progress thread: worth an announcement

int rank = 0;
int ranks = 1;
int sign = 0;        // the signal
const char* phase;   // in which it comes
bool armed = false;  // the phase has begun on this rank
int readings = 0;    // of the clock, in it

/// If this stops the rank, the test continues it after it has seen the expected output.
void strike() {
  std::fprintf(stderr, "scene: process %d gets signal %d\n", static_cast<int>(getpid()), sign);
  std::fflush(stderr);
  raise(sign);
}

void strike_in(const char* here) {
  if (rank == kVictim && std::strcmp(phase, here) == 0) strike();
}

void add(void* in, void* inout, int* count, MPI_Datatype*) {
  if (armed) {
    armed = false;
    strike_in("combining");
  }
  const auto* const from = static_cast<const int*>(in);
  auto* const to = static_cast<int*>(inout);
  for (int i = 0; i < *count; ++i) to[i] += from[i];
}

double clock_of_rank() {
  if (armed && ++readings == 3) strike_in("clock");
  return 1000.0 * rank + latecomer::monotonic_clock();
}

/// As if every rank had a clock of its own.
void set_clocks_apart(MPI_Comm comm) {
  std::vector<std::uint64_t> clocks;
  for (int r = 0; r < ranks; ++r) clocks.push_back(static_cast<std::uint64_t>(r) + 1);
  latecomer::CommResources& resources = *latecomer::state_of(comm).resources;
  resources.clocks = latecomer::Clocks(latecomer::group_clocks(clocks, rank), clock_of_rank);
}

/// The progress thread has begun the others' call on this rank, which still computes.
void strike_beside_the_thread(MPI_Comm comm) {
  if (std::strcmp(phase, "thread") != 0 || rank != kVictim) return;
  latecomer::CommState& state = latecomer::state_of(comm);
  for (bool begun = false; !begun;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    const std::lock_guard hold(state.lock);
    const latecomer::Protocol* const protocol = state.async_progress->begun();
    begun = protocol != nullptr && protocol->done() > 0;
  }
  strike();
}

void call(MPI_Comm comm, MPI_Op op) {
  const std::vector<int> mine(kElements, rank + 1);
  std::vector<int> result(kElements);
  require(
      latecomer_allreduce(mine.data(), result.data(), kElements, MPI_INT, op, comm) == MPI_SUCCESS,
      "the call ends well");
  require(result == std::vector<int>(kElements, ranks * (ranks + 1) / 2), "the sum is right");
}

/// After the first call, in which settings are compared.
void set_up(MPI_Comm comm, MPI_Op op, const char* algorithm) {
  MPI_Comm_set_name(comm, "halo");
  latecomer_set_long_wait(comm, 0.1);
  strike_in("link");  // the others are in MPI_Comm_create meanwhile
  require(latecomer::state_of(comm).ensure_resources() == MPI_SUCCESS, "the resources");
  require(latecomer_set_algorithm(comm, "allreduce", algorithm) == MPI_SUCCESS, "the algorithm");
  require(latecomer_set_network(comm, "alpha=1ns,beta=8ns") == MPI_SUCCESS, "the network");
  std::vector<double> arrivals(static_cast<std::size_t>(ranks), 0.0);
  arrivals[kVictim] = 1;
  require(latecomer_set_arrivals(comm, arrivals.data(), ranks) == MPI_SUCCESS, "the arrivals");
  call(comm, op);
  if (std::strcmp(phase, "clock") != 0) return;
  set_clocks_apart(comm);
  armed = true;
  require(latecomer_set_estimate(comm, "online") == MPI_SUCCESS, "the estimate");
}

}  // namespace

/// Arguments: kill or stop; computing, combining, clock, link or thread; the algorithm. The last
/// needs LATECOMER_PROGRESS=thread.
int trouble(int argc, char** argv) {
  require(argc == 4, "trouble SIGNAL PHASE ALGORITHM");
  sign = std::strcmp(argv[1], "kill") == 0 ? SIGKILL : SIGSTOP;
  phase = argv[2];
  int level = MPI_THREAD_SINGLE;
  const bool thread = std::strcmp(phase, "thread") == 0;
  MPI_Init_thread(nullptr, nullptr, thread ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Op op = MPI_OP_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Op_create(add, 1, &op);
  if (thread) op = MPI_SUM;
  set_up(comm, op, argv[3]);
  strike_in("computing");
  strike_beside_the_thread(comm);
  armed = true;
  call(comm, op);
  call(comm, op);
  if (!thread) MPI_Op_free(&op);
  MPI_Comm_free(&comm);
  return MPI_Finalize();
}

}  // namespace scenes
