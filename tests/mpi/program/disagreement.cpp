// Ranks that disagree about a call, get the error, and end at once.
#include <vector>

#include "latecomer/latecomer_mpi.h"
#include "scenes.hpp"

namespace scenes {

int disagreement(int, char**) {
  int rank = 0;
  int ranks = 1;
  MPI_Init(nullptr, nullptr);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  require(latecomer_set_algorithm(comm, "allreduce", "online_owners:blocks=60") == MPI_SUCCESS,
          "the algorithm");
  latecomer_set_long_wait(comm, 1);
  constexpr int kElements = 46;
  std::vector<int> mine(kElements + 1, 1), result(mine);
  for (const int more : {0, rank == ranks - 1 ? 1 : 0}) {
    const int code =
        latecomer_allreduce(mine.data(), result.data(), kElements + more, MPI_INT, MPI_SUM, comm);
    std::fprintf(stderr, "scene: %s\n", code == MPI_SUCCESS ? "no error" : "an error");
  }
  return MPI_Finalize();
}

}  // namespace scenes
