#include <string>
#include <thread>
#include <vector>

#include "base/reproducible.hpp"
#include "latecomer/latecomer_mpi.h"
#include "scenes.hpp"

namespace scenes {
namespace {

constexpr int kThreads = 3;
constexpr int kRounds = 4;
constexpr int kCalls = 25;

void call(MPI_Comm comm, int ranks, int elements) {
  const std::vector<int> mine(static_cast<std::size_t>(elements), 3);
  std::vector<int> result(mine.size());
  require(latecomer_allreduce(mine.data(), result.data(), elements, MPI_INT, MPI_SUM, comm) ==
              MPI_SUCCESS,
          "a call ends well");
  require(result == std::vector<int>(mine.size(), 3 * ranks), "the sum is right");
}

/// Works on communicators that no other thread uses, made and freed while other threads call.
void work(MPI_Comm own, std::uint64_t seed) {
  constexpr const char* kAlgorithms[] = {"ring", "sorted_linear_tree", "fastest", "native"};
  latecomer::Random random(seed);  // the same on all ranks
  int ranks = 1;
  MPI_Comm_size(own, &ranks);
  for (int round = 0; round < kRounds; ++round) {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(own, &comm);
    require(latecomer_set_algorithm(comm, "allreduce", kAlgorithms[random.below(4)]) == MPI_SUCCESS,
            "the algorithm");
    const char* const estimate = random.below(2) == 0 ? "online" : "given";
    require(latecomer_set_estimate(comm, estimate) == MPI_SUCCESS, "the estimate");
    for (int i = 0; i < kCalls; ++i) call(comm, ranks, static_cast<int>(1 + random.below(3000)));
    latecomer_stats stats{};
    latecomer_get_stats(comm, &stats);
    require(stats.handled + stats.native == kCalls, "every call is counted");
    // The last error of one thread does not depend on the others.
    require(latecomer_set_estimate(comm, seed % 2 == 0 ? "odd" : "even") == MPI_ERR_ARG, "refusal");
    const std::string said = latecomer_last_error();
    require(said.find(seed % 2 == 0 ? "odd" : "even") != std::string::npos, "its own error");
    MPI_Comm_free(&comm);
  }
}

}  // namespace

int threads(int, char**) {
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided);
  require(provided == MPI_THREAD_MULTIPLE, "the MPI library serves several threads");
  std::vector<MPI_Comm> own(kThreads, MPI_COMM_NULL);
  for (MPI_Comm& comm : own) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  std::vector<std::thread> all;
  for (int i = 0; i < kThreads; ++i) {
    all.emplace_back(work, own[static_cast<std::size_t>(i)], static_cast<std::uint64_t>(i));
  }
  for (std::thread& thread : all) thread.join();
  for (MPI_Comm& comm : own) MPI_Comm_free(&comm);
  return MPI_Finalize();
}

}  // namespace scenes
