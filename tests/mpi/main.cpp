#include <cstdlib>
#include <cstring>

#include "runner.hpp"

namespace {

/// --thread: all communicators have progress threads, and announcements cost nothing, so that all
/// calls that can be are announced.
void init(int* argc, char*** argv) {
  if (*argc < 2 || std::strcmp((*argv)[1], "--thread") != 0) {
    MPI_Init(argc, argv);
    return;
  }
  setenv("LATECOMER_PROGRESS", "thread", 1);
  setenv("LATECOMER_NETWORK", "alpha=1ns,beta=8ns,gamma=0.1ns", 1);
  int level = MPI_THREAD_SINGLE;
  MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &level);
}

}  // namespace

int main(int argc, char** argv) {
  init(&argc, &argv);
  const int result = latecomer::testing::run_all(argc, argv);
  MPI_Finalize();
  return result;
}
