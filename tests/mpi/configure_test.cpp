// Choosing an algorithm: errors name what is wrong, on every rank, and change nothing.
#include <cmath>

#include "capi/core/last_error.hpp"
#include "communicator.hpp"
#include "latecomer/latecomer_mpi.h"
#include "runner.hpp"
#include "runtime/comm_state.hpp"

namespace latecomer::testing {
namespace {

bool last_error_names(const std::string& word) {
  return std::string(last_error()).find(word) != std::string::npos;
}

MPI_TEST(unknown_names_are_refused) {
  const Communicator comm;
  CHECK_EQ(latecomer_set_algorithm(comm, "allreduce", "rung"), MPI_ERR_ARG);
  CHECK_TEXT(last_error_names("rung") && last_error_names("ring"), last_error());
  CHECK_EQ(latecomer_set_algorithm(comm, "alltoall", "ring"), MPI_ERR_ARG);
  CHECK_TEXT(last_error_names("alltoall"), last_error());
  CHECK_EQ(latecomer_set_algorithm(comm, "allreduce", "segmented_ring:segments=0"), MPI_ERR_ARG);
  CHECK_TEXT(last_error_names("segments"), last_error());
  CHECK_EQ(latecomer_set_algorithm(comm, "allreduce", nullptr), MPI_ERR_ARG);
  CHECK_EQ(std::string(state_of(comm).choice.algorithm->name), "native");
}

MPI_TEST(ranks_must_agree) {
  if (context.ranks == 1) return;
  const Communicator comm;
  const bool odd = context.rank == context.ranks - 1;
  CHECK_EQ(latecomer_set_algorithm(comm, "allreduce", odd ? "ring" : "linear_tree"), MPI_ERR_ARG);
  CHECK_TEXT(last_error_names("every rank"), last_error());
  CHECK_EQ(latecomer_set_algorithm(comm, "allreduce", odd ? "no such" : "ring"), MPI_ERR_ARG);
  CHECK_EQ(std::string(state_of(comm).choice.algorithm->name), "native");
  CHECK_EQ(latecomer_set_algorithm(comm, "allreduce", "ring"), MPI_SUCCESS);
}

MPI_TEST(arrivals_and_network_are_checked) {
  const Communicator comm;
  std::vector<double> arrivals(static_cast<std::size_t>(context.ranks) + 1, 0.0);
  CHECK_EQ(latecomer_set_arrivals(comm, arrivals.data(), context.ranks + 1), MPI_ERR_ARG);
  CHECK_TEXT(last_error_names("arrivals"), last_error());
  arrivals[0] = std::nan("");
  CHECK_EQ(latecomer_set_arrivals(comm, arrivals.data(), context.ranks), MPI_ERR_ARG);
  CHECK_EQ(latecomer_set_network(comm, "alpha=fast"), MPI_ERR_ARG);
  CHECK_TEXT(last_error_names("fast"), last_error());
  CHECK_EQ(latecomer_set_network(comm, "alpha=10us,beta=1ns"), MPI_SUCCESS);
  CHECK_EQ(latecomer_set_network(comm, nullptr), MPI_SUCCESS);
  CHECK_EQ(latecomer_set_long_wait(comm, 0), MPI_ERR_ARG);
  CHECK_EQ(latecomer_get_stats(comm, nullptr), MPI_ERR_ARG);
  CHECK_EQ(latecomer_set_network(MPI_COMM_NULL, nullptr), MPI_ERR_COMM);
}

}  // namespace
}  // namespace latecomer::testing
