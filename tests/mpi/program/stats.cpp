#include "latecomer/latecomer_mpi.h"
#include "scenes.hpp"

namespace scenes {
namespace {

constexpr int kCalls = 5;
constexpr int kFreed = 70;

void call(MPI_Comm comm) {
  const int mine = 1;
  int result = 0;
  require(latecomer_allreduce(&mine, &result, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS, "a call");
}

}  // namespace

int stats(int, char**) {
  MPI_Init(nullptr, nullptr);
  MPI_Comm kept = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &kept);
  MPI_Comm_set_name(kept, "halo \"\033[2J\"");
  latecomer_set_algorithm(kept, "allreduce", "ring");
  latecomer_set_estimate(kept, "online");
  for (int i = 0; i < kCalls; ++i) call(kept);
  call(kept);            // from another place
  call(MPI_COMM_WORLD);  // native
  for (int i = 0; i < kFreed; ++i) {
    MPI_Comm freed = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &freed);
    call(freed);
    MPI_Comm_free(&freed);
  }
  return MPI_Finalize();  // `kept` is not freed
}

}  // namespace scenes
