// A program that uses sessions of MPI 4 alone: there is no MPI_Init, and no MPI_COMM_WORLD.
#include <string>
#include <vector>

#include "latecomer/latecomer_mpi.h"
#include "scenes.hpp"

namespace scenes {

#if MPI_VERSION >= 4

namespace {

MPI_Comm comm_of(MPI_Session session) {
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "latecomer.test", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
  MPI_Group_free(&group);
  return comm;
}

void call_everything(MPI_Comm comm) {
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  const int mine = rank + 1;
  const int sum = ranks * (ranks + 1) / 2;
  const auto size = static_cast<std::size_t>(ranks);
  int got = 0;
  latecomer_allreduce(&mine, &got, 1, MPI_INT, MPI_SUM, comm);
  require(got == sum, "all-reduce");
  got = 0;
  latecomer_reduce(&mine, &got, 1, MPI_INT, MPI_SUM, ranks - 1, comm);
  require(got == (rank == ranks - 1 ? sum : 0), "reduce");
  got = mine;
  latecomer_bcast(&got, 1, MPI_INT, ranks - 1, comm);
  require(got == ranks, "broadcast");
  std::vector<int> all(size);
  latecomer_allgather(&mine, 1, MPI_INT, all.data(), 1, MPI_INT, comm);
  require(all[size - 1] == ranks, "all-gather");
  std::vector<int> counts(size, 1);
  std::vector<int> places(size);
  for (int i = 0; i < ranks; ++i) places[static_cast<std::size_t>(i)] = ranks - 1 - i;
  latecomer_allgatherv(&mine, 1, MPI_INT, all.data(), counts.data(), places.data(), MPI_INT, comm);
  require(all[0] == ranks && all[size - 1] == 1, "all-gather of parts");
  std::vector<int> gathered(size);
  latecomer_gather(&mine, 1, MPI_INT, gathered.data(), 1, MPI_INT, 0, comm);
  require(rank != 0 || gathered[size - 1] == ranks, "gather");
  latecomer_scatter(gathered.data(), 1, MPI_INT, &got, 1, MPI_INT, 0, comm);
  require(got == mine, "scatter");
  require(latecomer_bcast(&got, 1, MPI_INT, ranks, comm) != MPI_SUCCESS, "a wrong root");
}

}  // namespace

int sessions(int, char**) {
  MPI_Session session = MPI_SESSION_NULL;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Comm comm = comm_of(session);
  call_everything(comm);
  require(latecomer_set_algorithm(comm, "allreduce", "ring") == MPI_ERR_OTHER, "no algorithm");
  require(std::string(latecomer_last_error()).find("MPI_Init") != std::string::npos, "the reason");
  call_everything(comm);
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&session);
  return 0;
}

#else

int sessions(int, char**) { return 4; }

#endif

}  // namespace scenes
