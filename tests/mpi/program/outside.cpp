// Calls before MPI_Init and after MPI_Finalize: errors that name the missing call, on any
// communicator, and nothing else. Collectives are the MPI library's own to refuse: with an
// argument, the first call is one.
#include <cstring>
#include <string>

#include "latecomer/latecomer_mpi.h"
#include "scenes.hpp"

namespace scenes {
namespace {

void check(int code, const char* word) {
  require(code == MPI_ERR_OTHER, "the code is MPI_ERR_OTHER");
  const std::string said = latecomer_last_error();
  require(said.find(word) != std::string::npos, said.c_str());
}

void call_everything(MPI_Comm comm, latecomer_request request, const char* word) {
  const int mine = 1;
  int result = 0;
  double number = 0;
  char text[8];
  latecomer_stats stats;
  latecomer_key_stats key;
  latecomer_site_stats site;
  latecomer_request fresh = LATECOMER_REQUEST_NULL;
  check(latecomer_set_algorithm(comm, "allreduce", "ring"), word);
  check(latecomer_set_arrivals(comm, nullptr, 0), word);
  check(latecomer_set_estimate(comm, "online"), word);
  check(latecomer_set_network(comm, nullptr), word);
  check(latecomer_set_reproducible(comm, 1), word);
  check(latecomer_set_long_wait(comm, 1), word);
  check(latecomer_get_pattern(comm, &number, nullptr, 1), word);
  std::uint64_t last = 0;
  check(latecomer_get_last_to_arrive(comm, &last, 1), word);
  check(latecomer_get_stats(comm, &stats), word);
  check(latecomer_count_stats(comm, nullptr, nullptr), word);
  check(latecomer_get_key_stats(comm, 0, &key), word);
  check(latecomer_get_site_stats(comm, 0, &site), word);
  check(latecomer_get_parameters(comm, text, sizeof text), word);
  check(latecomer_get_clock_error(comm, &number), word);
  check(latecomer_allreduce_init(&mine, &result, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &fresh),
        word);
  check(latecomer_start(&request), word);
  check(latecomer_wait(&request), word);
}

}  // namespace

int outside(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "collective") == 0) {
    const int mine = 1;
    int result = 0;
    return latecomer_allreduce(&mine, &result, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  }
  call_everything(MPI_COMM_WORLD, LATECOMER_REQUEST_NULL, "MPI_Init");
  MPI_Init(nullptr, nullptr);
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  require(latecomer_set_algorithm(comm, "allreduce", "ring") == MPI_SUCCESS, "the algorithm");
  const int mine = 1;
  int result = 0;
  latecomer_request request = LATECOMER_REQUEST_NULL;
  require(latecomer_allreduce_init(&mine, &result, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL,
                                   &request) == MPI_SUCCESS,
          "a request");
  require(latecomer_start(&request) == MPI_SUCCESS, "its start");
  require(latecomer_wait(&request) == MPI_SUCCESS, "its end");
  MPI_Finalize();  // the communicator is not freed
  call_everything(comm, request, "MPI_Finalize");
  call_everything(MPI_COMM_WORLD, request, "MPI_Finalize");
  require(latecomer_request_free(&request) == MPI_SUCCESS, "a request may be freed at any time");
  return 0;
}

}  // namespace scenes
