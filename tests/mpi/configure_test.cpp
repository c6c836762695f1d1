// Choosing an algorithm: errors name the wrong value, on every rank, and change nothing.
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "base/error.hpp"
#include "captured_stderr.hpp"
#include "communicator.hpp"
#include "latecomer/latecomer_mpi.h"
#include "runner.hpp"
#include "runtime/attachment.hpp"
#include "runtime/connection/predecessors.hpp"
#include "runtime/report/log.hpp"
#include "scratch_name.hpp"
#include "variable.hpp"

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
  CHECK_EQ(std::string(state_of(comm).choice(Collective::allreduce).algorithm->name), "native");
}

MPI_TEST(ranks_must_agree) {
  if (context.ranks == 1) return;
  const Communicator comm;
  const bool odd = context.rank == context.ranks - 1;
  CHECK_EQ(latecomer_set_algorithm(comm, "allreduce", odd ? "ring" : "linear_tree"), MPI_ERR_ARG);
  CHECK_TEXT(last_error_names("the same value on all ranks"), last_error());
  CHECK_EQ(latecomer_set_algorithm(comm, "allreduce", odd ? "no such" : "ring"), MPI_ERR_ARG);
  CHECK_TEXT(last_error_names(odd ? "no such" : "another rank rejected its own"), last_error());
  CHECK_EQ(std::string(state_of(comm).choice(Collective::allreduce).algorithm->name), "native");
  CHECK_EQ(latecomer_set_algorithm(comm, odd ? "bcast" : "reduce", "native"), MPI_ERR_ARG);
  CHECK_TEXT(last_error_names(odd ? "'bcast:native'" : "'reduce:native'"), last_error());
  CHECK_EQ(latecomer_set_algorithm(comm, "allreduce", "ring"), MPI_SUCCESS);
}

#ifdef MPICH_VERSION  // it has 2048 communicators; others have more
MPI_TEST(what_mpi_cannot_make_changes_nothing) {
  if (context.ranks == 1) return;
  forget_predecessors();
  const Communicator comm = Communicator::returning_errors();
  std::vector<MPI_Comm> all;
  for (MPI_Comm next = MPI_COMM_NULL; MPI_Comm_dup(comm, &next) == MPI_SUCCESS;) {
    all.push_back(next);
  }
  CHECK_EQ(latecomer_set_algorithm(comm, "allreduce", "ring"), MPI_ERR_ARG);
  CHECK_TEXT(last_error_names("communicator"), last_error());
  CHECK_EQ(std::string(state_of(comm).choice(Collective::allreduce).algorithm->name), "native");
  for (MPI_Comm& each : all) MPI_Comm_free(&each);
  CHECK_EQ(latecomer_set_algorithm(comm, "allreduce", "ring"), MPI_SUCCESS);
}
#endif

MPI_TEST(arrivals_and_network_are_checked) {
  const Communicator comm;
  std::vector<double> arrivals(static_cast<std::size_t>(context.ranks) + 1, 0.0);
  CHECK_EQ(latecomer_set_arrivals(comm, arrivals.data(), context.ranks + 1), MPI_ERR_ARG);
  CHECK_TEXT(last_error_names("arrivals"), last_error());
  arrivals[0] = 1e19;
  CHECK_EQ(latecomer_set_arrivals(comm, arrivals.data(), context.ranks), MPI_ERR_ARG);
  CHECK_TEXT(last_error_names("from -1e18 to 1e18"), last_error());
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

struct DefaultNetwork : Variable {
  explicit DefaultNetwork(const std::string& text) : Variable("LATECOMER_NETWORK", text) {}
};

MPI_TEST(the_environment_names_the_default_network) {
  const DefaultNetwork environment("alpha=7us,handshake=1us");
  const Communicator comm;
  CHECK_EQ(state_of(comm).chooser.policy().network.alpha, 7e-6);
  CHECK_EQ(latecomer_set_network(comm, "alpha=3us"), MPI_SUCCESS);  // more than the environment
  CHECK_EQ(state_of(comm).chooser.policy().network.alpha, 3e-6);
  CHECK_EQ(latecomer_set_network(comm, nullptr), MPI_SUCCESS);
  CHECK_EQ(state_of(comm).chooser.policy().network.alpha, 7e-6);
}

MPI_TEST(a_network_is_read_from_a_file) {
  const std::string name = scratch_name("network");
  std::ofstream(name) << "# place: here\n\nalpha=9us,beta=2ns  \n";
  {
    const DefaultNetwork environment("@" + name);
    const Communicator comm;
    CHECK_EQ(state_of(comm).chooser.policy().network.alpha, 9e-6);
    std::ofstream(name) << "alpha=9us\nalpha=8us\n";
    CHECK_EQ(latecomer_set_network(comm, ("@" + name).c_str()), MPI_ERR_ARG);
    CHECK_TEXT(last_error_names("2 lines"), last_error());
  }
  std::remove(name.c_str());
  const Communicator comm;
  CHECK_EQ(latecomer_set_network(comm, ("@" + name).c_str()), MPI_ERR_ARG);
  CHECK_TEXT(last_error_names(name), last_error());
}

MPI_TEST(an_error_in_a_file_names_its_line_and_shows_nothing_of_it) {
  const std::string name = scratch_name("network");
  const Communicator comm;
  for (const std::string line : {"root:secret", "alpha=secret", "secret=1,alpha=1us", "=secret"}) {
    std::ofstream(name) << "# from a shadow\n\n" << line << '\n';
    CHECK_EQ(latecomer_set_network(comm, ("@" + name).c_str()), MPI_ERR_ARG);
    CHECK_TEXT(last_error_names("in " + name + ": 'line 3'"), last_error());
    CHECK_TEXT(!last_error_names("secret"), last_error());
  }
  CHECK_EQ(latecomer_set_network(comm, ("@" + name).c_str()), MPI_ERR_ARG);
  std::ofstream(name) << "alpha=fast\n";
  CHECK_EQ(latecomer_set_network(comm, ("@" + name).c_str()), MPI_ERR_ARG);
  CHECK_TEXT(last_error_names("network alpha in ") && last_error_names("a time"), last_error());
  std::remove(name.c_str());
}

MPI_TEST(a_network_is_read_from_a_small_regular_file_only) {
  const std::string name = scratch_name("network");
  const Communicator comm;
  const auto refused = [&](const std::string& file) {
    CHECK_EQ(latecomer_set_network(comm, ("@" + file).c_str()), MPI_ERR_ARG);
    CHECK_TEXT(last_error_names("a regular file of at most 64 KiB"), last_error());
  };
  refused("/dev/zero");
  refused("/tmp");
  CHECK_EQ(mkfifo(name.c_str(), 0600), 0);
  refused(name);
  std::remove(name.c_str());
  std::ofstream(name) << "alpha=1us\n" << std::string(65536, '#');
  refused(name);
  std::ofstream(name) << "alpha=1us\n" << std::string(65536 - 10, '#');
  CHECK_EQ(latecomer_set_network(comm, ("@" + name).c_str()), MPI_SUCCESS);
  std::remove(name.c_str());
}

MPI_TEST(names_that_are_printed_do_not_act_on_a_terminal) {
  const Communicator comm;
  MPI_Comm_set_name(comm, "two\nlines \033[2J\177");
  CapturedStderr captured;
  log_line(describe(comm));
  const std::string text = captured.text();
  CHECK_TEXT(text.find(R"('two\x0alines \x1b[2J\x7f')") != std::string::npos, text);
}

MPI_TEST(a_default_network_that_cannot_be_read_is_reported_once_a_job) {
  const DefaultNetwork environment("alpha=fast");
  CapturedStderr captured;
  {
    const Communicator one;
    const Communicator two;
    CHECK_EQ(state_of(one).chooser.policy().network.alpha, Network{}.alpha);
    CHECK_EQ(state_of(two).chooser.policy().network.alpha, Network{}.alpha);
  }
  const std::string text = captured.text();
  const auto first = text.find("LATECOMER_NETWORK is not used: ");
  if (context.rank != 0) {  // rank 0 speaks for the job
    CHECK_EQ(text, "");
    return;
  }
  CHECK_TEXT(first != std::string::npos && text.find("fast") != std::string::npos, text);
  CHECK_TEXT(text.find("LATECOMER_NETWORK", first + 1) == std::string::npos, text);
}

}  // namespace
}  // namespace latecomer::testing
