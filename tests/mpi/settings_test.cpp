// The first handled call detects settings that differ between ranks: then the MPI library serves
// all of them, with one warning.
#include "runtime/settings/settings.hpp"

#include <chrono>
#include <cstdlib>
#include <thread>

#include "captured_stderr.hpp"
#include "communicator.hpp"
#include "latecomer/latecomer_mpi.h"
#include "rules/rules.hpp"
#include "runtime/attachment.hpp"
#include "runtime/call/run.hpp"
#include "runtime/progress/async_progress.hpp"
#include "try_reduction.hpp"
#include "variable.hpp"

namespace latecomer::testing {
namespace {

bool contains(const std::string& text, const std::string& word) {
  return text.find(word) != std::string::npos;
}

/// Calls on a communicator whose settings differ. Returns this rank's output on stderr.
std::string calls_by_the_mpi_library(const Context& context, MPI_Comm comm) {
  const Kinds kinds;
  CapturedStderr captured;
  for (std::uint64_t i = 0; i < 3; ++i) {
    try_allreduce(comm, kinds.named("float sum"), {1000, i == 1, 0}, context.seed + i, "different");
  }
  CHECK_EQ(stats_of(comm).fallback_settings, 3U);
  CHECK_EQ(stats_of(comm).handled, 0U);
  CHECK_EQ(stats_of(comm).failed, 0U);
  return captured.text();
}

/// One warning, from rank 0.
void check_warning(const Context& context, const std::string& said, const std::string& names) {
  if (context.rank != 0) {
    CHECK_EQ(said, "");
    return;
  }
  const std::string what = "settings differ between ranks: ";
  CHECK_TEXT(contains(said, what + names + ";"), said);
  CHECK_TEXT(contains(said, "rank 0 of"), said);
  CHECK_TEXT(said.find(what) == said.rfind(what), said);
}

MPI_TEST(different_networks_go_to_the_mpi_library) {
  if (context.ranks == 1) return;
  const Communicator comm;
  latecomer_set_algorithm(comm, "allreduce", "sorted_linear_tree");
  if (context.rank == context.ranks - 1) latecomer_set_network(comm, "alpha=1us,beta=1ns");
  check_warning(context, calls_by_the_mpi_library(context, comm), "network");
  latecomer_set_network(comm, nullptr);
  CHECK_EQ(latecomer_set_algorithm(comm, "allreduce", "sorted_linear_tree"), MPI_SUCCESS);
  try_allreduce(comm, Kinds().named("float sum"), {1000, false, 0}, context.seed, "repaired");
  CHECK_EQ(stats_of(comm).handled, 1U);
}

MPI_TEST(different_environments_go_to_the_mpi_library) {
  if (context.ranks == 1) return;
  const Variable network("LATECOMER_NETWORK", context.rank == 1 ? "alpha=7us" : "alpha=8us");
  const Communicator comm;
  latecomer_set_algorithm(comm, "allreduce", "ring");  // its plans do not depend on the network
  check_warning(context, calls_by_the_mpi_library(context, comm), "network");
}

/// Rules for the communicator, as if a file had them.
void give_rules(MPI_Comm comm, const std::string& rules) {
  const std::string text = R"({"rule_file_version": 1, "module": "latecomer",
    "collectives": {"allreduce": [{"rules": [)" +
                           rules + "]}]}}";
  state_of(comm).chooser.policy().rules =
      std::make_shared<const UserRules>(read_rules(text, "rules"));
}

MPI_TEST(different_rules_go_to_the_mpi_library) {
  if (context.ranks == 1) return;
  const Communicator comm;
  give_rules(comm, context.rank == 0 ? R"({"alg": "native"})" : R"({"alg": "ring"})");
  const auto set = [&] {
    CapturedStderr captured;
    latecomer_set_algorithm(comm, "allreduce", "auto");
    return captured.text();
  };
  check_warning(context, set(), "rules");
  CHECK_EQ(calls_by_the_mpi_library(context, comm), "");
}

MPI_TEST(different_nodes_go_to_the_mpi_library) {
  if (context.ranks == 1) return;
  const Variable nodes("LATECOMER_NODES", context.rank == 0 ? "2" : "off");
  const Communicator comm;
  latecomer_set_algorithm(comm, "allreduce", "nodes");
  check_warning(context, calls_by_the_mpi_library(context, comm), "nodes");
}

MPI_TEST(rules_choose_by_size_where_the_algorithm_is_auto) {
  if (context.ranks == 1) return;
  const Kinds kinds;
  const Communicator comm;
  give_rules(comm, R"({"msg_size_max": 4000, "alg": "ring"}, {"alg": "native"})");
  const auto call = [&](Count count) {
    try_allreduce(comm, kinds.named("float sum"), {count, false, 0}, context.seed, "by rule");
  };
  call(1000);
  CHECK_EQ(stats_of(comm).native, 1U);  // nothing was set
  CHECK_EQ(latecomer_set_algorithm(comm, "allreduce", "auto"), MPI_SUCCESS);
  call(1000);
  CHECK_EQ(stats_of(comm).handled, 1U);
  call(1001);
  call(1001);
  CHECK_EQ(stats_of(comm).native, 3U);
  CHECK_EQ(latecomer_set_algorithm(comm, "allreduce", "recursive_doubling"), MPI_SUCCESS);
  call(1001);
  CHECK_EQ(stats_of(comm).handled, 2U);
}

MPI_TEST(rules_choose_by_the_arrivals_that_are_given) {
  if (context.ranks == 1) return;
  const Kinds kinds;
  const Communicator comm;
  give_rules(comm, R"({"imbalance_min": 1, "alg": "linear_tree"}, {"alg": "ring"})");
  CHECK_EQ(latecomer_set_algorithm(comm, "allreduce", "auto"), MPI_SUCCESS);
  std::vector<Seconds> arrivals(static_cast<std::size_t>(context.ranks));
  for (const Seconds late : {0.0, 1.0, 0.0}) {
    arrivals.back() = late;
    CHECK_EQ(latecomer_set_arrivals(comm, arrivals.data(), context.ranks), MPI_SUCCESS);
    MPI_Barrier(comm);  // rank 0's progress thread plans as soon as any rank calls
    try_allreduce(comm, kinds.named("float sum"), {1000, false, 0}, context.seed, "by arrivals");
    const std::string& used = state_of(comm).parameters;
    CHECK_TEXT(contains(used, late > 0 ? "as=linear_tree" : "as=ring"), used);
  }
}

MPI_TEST(settings_are_compared_once) {
  if (context.ranks == 1) return;
  const Kinds kinds;
  const Communicator comm;
  latecomer_set_algorithm(comm, "allreduce", "ring");
  CHECK(state_of(comm).settings == Settings::unknown);
  try_allreduce(comm, kinds.named("int sum"), {100, false, 0}, context.seed, "first");
  CHECK(state_of(comm).settings == Settings::alike);
  // A local change, which no other rank can know; the ring's plans are the same all the same.
  if (context.rank == 1) latecomer_set_network(comm, "alpha=7us");
  try_allreduce(comm, kinds.named("int sum"), {100, false, 0}, context.seed, "second");
  CHECK_EQ(stats_of(comm).handled, 2U);
  CHECK_EQ(stats_of(comm).fallback_settings, 0U);
}

MPI_TEST(networks_that_differ_later_end_in_an_error) {
  if (context.ranks == 1) return;
  const Kinds kinds;
  const auto comm = Communicator::returning_errors();
  latecomer_set_algorithm(comm, "allreduce", "linear_tree");
  latecomer_set_long_wait(comm, 0.2);
  try_allreduce(comm, kinds.named("int sum"), {100000, false, 0}, context.seed, "first");
  MPI_Barrier(comm);  // a rank that fails early would end the first call of others
  if (context.rank == 1) latecomer_set_network(comm, "alpha=1ns");  // more segments
  std::vector<int> mine(100000, 1);
  std::vector<int> result(mine.size());
  CapturedStderr captured;
  const int code = latecomer_allreduce(mine.data(), result.data(), 100000, MPI_INT, MPI_SUM, comm);
  const std::string said = captured.text();
  // All ranks take over a plan that rank 0 announces.
  CHECK_TEXT(code == (state_of(comm).async_progress ? MPI_SUCCESS : disagreement_class()), said);
}

/// One rank sets a network, perhaps the one that it has, some calls before the others do.
MPI_TEST(under_auto_ranks_may_set_a_network_one_after_the_other) {
  if (context.ranks == 1) return;
  for (const char* const network : {static_cast<const char*>(nullptr), "alpha=1us,exchange=1.5"}) {
    for (const int count : {1, 100, 1000, 300000}) {
      const Communicator comm;
      CHECK_EQ(latecomer_set_algorithm(comm, "allreduce", "auto"), MPI_SUCCESS);
      std::vector<int> mine(static_cast<std::size_t>(count));
      std::vector<int> result(mine.size());
      for (int call = 0; call < 60; ++call) {
        const int set_at = context.rank == 1 ? 20 : 30;
        if (call == set_at) CHECK_EQ(latecomer_set_network(comm, network), MPI_SUCCESS);
        if (call == set_at) CHECK_EQ(latecomer_set_arrivals(comm, nullptr, 0), MPI_SUCCESS);
        std::fill(mine.begin(), mine.end(), call + context.rank);
        CHECK_EQ(latecomer_allreduce(mine.data(), result.data(), count, MPI_INT, MPI_SUM, comm),
                 MPI_SUCCESS);
        const int sum = context.ranks * call + context.ranks * (context.ranks - 1) / 2;
        CHECK_EQ(std::count(result.begin(), result.end(), sum), count);
      }
    }
  }
}

/// The waiting ranks report it, in the first call as in any.
MPI_TEST(a_late_rank_is_waited_for) {
  if (context.ranks == 1) return;
  const Kinds kinds;
  const Communicator comm;
  MPI_Comm_set_name(comm, "halo");
  latecomer_set_algorithm(comm, "allreduce", "ring");
  latecomer_set_long_wait(comm, 0.02);
  const bool late = context.rank == 1;
  CapturedStderr captured;
  try_allreduce(comm, kinds.named("int sum"), {100, false, late ? 0.3 : 0.0}, context.seed, "late");
  const std::string said = captured.text();
  CHECK_EQ(stats_of(comm).handled, 1U);
  if (context.rank == 0) {
    CHECK_TEXT(contains(said, "rank 0 of 'halo'"), said);
    CHECK_TEXT(contains(said, "call 1: waiting for"), said);
    CHECK_TEXT(contains(said, "for rank 1 to compare settings"), said);
  }
}

MPI_TEST(differing_settings_are_named) {
  const Communicator comm;
  const SettingHashes alike = hashes_of(state_of(comm));
  SettingHashes all = alike;
  merge(all, alike);
  CHECK_EQ(names_of_differing(all), "");
  for (std::size_t i = 0; i < settings().size(); ++i) {
    SettingHashes other = alike;
    ++other.values[i];
    SettingHashes merged = alike;
    merge(merged, other);
    CHECK_EQ(names_of_differing(merged), settings()[i].must_be_alike ? settings()[i].name : "");
    merge(all, merged);  // as a rank above them is told
  }
  // Rows of another version need not mean the same.
  CHECK_EQ(names_of_differing(all), "library version");
}

}  // namespace
}  // namespace latecomer::testing
