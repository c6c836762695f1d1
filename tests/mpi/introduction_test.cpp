// The introduction of the ranks when their resources are made, and its consequences.
#include "runtime/connection/introduction.hpp"

#include "captured_stderr.hpp"
#include "communicator.hpp"
#include "latecomer/latecomer_mpi.h"
#include "runner.hpp"
#include "runtime/attachment.hpp"
#include "runtime/connection/connect.hpp"
#include "runtime/progress/progress_thread.hpp"
#include "transports/mpi/user_code.hpp"

namespace latecomer::testing {
namespace {

using Numbers = std::vector<std::uint64_t>;

Introductions on_machines(const Numbers& machines) {
  Introductions all;
  for (const std::uint64_t machine : machines) all.emplace_back().machine = machine;
  return all;
}

Introductions wishing(const std::vector<ProgressMode>& modes) {
  Introductions all;
  for (const ProgressMode mode : modes) all.emplace_back().progress = mode;
  return all;
}

MPI_TEST(introductions_reach_all_ranks) {
  Introduction mine = introduction_of_place();
  CHECK(mine.machine != 0);
  mine.settings.values[3] = static_cast<std::uint64_t>(7 + context.rank);
  Introductions all;
  CHECK_EQ(introduce(MPI_COMM_WORLD, mine, all), MPI_SUCCESS);
  CHECK_EQ(all.size(), static_cast<std::size_t>(context.ranks));
  for (std::size_t i = 0; i < all.size(); ++i) {
    CHECK_EQ(all[i].settings.values[3], 7 + i);
    CHECK_EQ(all[i].machine, mine.machine);  // tests run on one
    CHECK_EQ(all[i].node, mine.node);
  }
  CHECK_EQ(settings_of(all).differing, context.ranks == 1 ? 0U : 8U);
}

MPI_TEST(introductions_that_fail_return_the_error) {
  const ReturnedErrorsEverywhere returned;
  Introductions all;
  CHECK(introduce(MPI_COMM_NULL, {}, all) != MPI_SUCCESS);
}

MPI_TEST(ranks_share_the_cores_of_their_own_machine) {
  const Introductions all = on_machines({1, 2, 1, 1});
  CHECK(is_oversubscribed(all, 0, 2));
  CHECK(!is_oversubscribed(all, 0, 3));
  CHECK(!is_oversubscribed(all, 1, 1));
}

/// Names of nodes, and how many ranks may share one.
Introductions on_nodes(const Numbers& nodes, const Numbers& per_node) {
  Introductions all;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    all.emplace_back().node = nodes[i];
    all.back().per_node = per_node[i % per_node.size()];
  }
  return all;
}

MPI_TEST(ranks_share_the_nodes_that_their_introductions_name) {
  CHECK(placement_of(on_nodes({7, 5, 7, 5, 7}, {0})) == (Placement{0, 1, 0, 1, 0}));
  CHECK(placement_of(on_nodes({7, 7, 7, 7, 7}, {2})) == (Placement{0, 0, 1, 1, 2}));
  CHECK(placement_of(on_nodes({7, 5, 7, 7, 5}, {2})) == (Placement{0, 1, 0, 2, 1}));
  CHECK(placement_of(on_nodes({7, 7, 7, 7}, {3})) == (Placement{0, 0, 0, 1}));
  CHECK(placement_of(on_nodes({7, 7, 7, 7}, {2, 0, 2, 0})) == (Placement{0, 1, 0, 1}));
  CHECK(placement_of(on_nodes({7, 7, 7}, {1})).empty());
  CHECK(placement_of(on_nodes({3, 2, 1}, {0})).empty());
  CHECK(placement_of(on_nodes({3}, {0})).empty());
}

MPI_TEST(messages_say_where_ranks_are) {
  Introductions all;
  for (const std::string name : {"n1", "n2", "n1", "n3", "n2"}) {
    name.copy(all.emplace_back().host.data(), name.size());
  }
  all.back().host.fill('x');  // cut off
  const Hosts hosts(all);
  const auto where = [&](const std::vector<Rank>& ranks) { return hosts.whereabouts(ranks); };
  CHECK_EQ(where({}), "");
  CHECK_EQ(where({3}), "; rank 3 is on host n3");
  CHECK_EQ(where({0, 2, 1}), "; rank 0 is on host n1, rank 2 on host n1, rank 1 on host n2");
  CHECK_EQ(where({4}), "; rank 4 is on host " + std::string(64, 'x'));
  CHECK_EQ(where({0, 1, 2, 3, 4}), where({0, 1, 2, 3}));
  const auto named = [&](std::string_view message) { return hosts.whereabouts(message); };
  CHECK_EQ(named("rank 1 of 'x' (5 ranks): rank 3 failed in call 2"),
           "; rank 1 is on host n2, rank 3 on host n3");
  CHECK_EQ(named("rank 3 follows another plan than rank 3"), "; rank 3 is on host n3");
  CHECK_EQ(named("rank 5, rank -1, rank 99999999999, rank , ranks 3, rank"), "");
  const Introduction mine = introduction_of_place();
  CHECK(mine.host.front() != '\0' && mine.host.back() == '\0');
}

MPI_TEST(all_ranks_must_have_a_progress_thread) {
  using enum ProgressMode;
  CapturedStderr captured;
  CHECK(all_have_progress_threads(wishing({thread, thread}), MPI_COMM_WORLD, 0));
  CHECK(!all_have_progress_threads(wishing({none, none}), MPI_COMM_WORLD, 0));
  CHECK(!all_have_progress_threads(wishing({none, thread}), MPI_COMM_WORLD, 1));
  CHECK_EQ(captured.text(), "");
  CapturedStderr again;
  CHECK(!all_have_progress_threads(wishing({not_allowed, thread, none}), MPI_COMM_WORLD, 0));
  const std::string said = again.text();
  CHECK_TEXT(said.find("since 2 of 3 ranks want one, and 1 can have it") != std::string::npos,
             said);
}

/// As under automatic choice.
MPI_TEST(a_link_that_is_made_in_a_call_compares_the_settings) {
  if (context.ranks == 1) return;
  for (const bool differ : {false, true}) {
    const Communicator comm;
    if (differ && context.rank == 1) latecomer_set_network(comm, "alpha=1us,beta=1ns");
    CommState& state = state_of(comm);
    CapturedStderr captured;
    CHECK_EQ(connect(state).code, MPI_SUCCESS);
    const std::string said = captured.text();
    CHECK(state.settings == (differ ? Settings::different : Settings::alike));
    const bool told = said.find("settings differ between ranks: network;") != std::string::npos;
    CHECK_TEXT(told == (differ && context.rank == 0), said);
  }
}

/// Other ranks do not learn the settings that a rank changes in between, unless they compare again.
MPI_TEST(a_link_that_is_made_before_the_first_call_compares_nothing_yet) {
  if (context.ranks == 1) return;
  const Communicator comm;
  CHECK_EQ(latecomer_set_algorithm(comm, "allreduce", "ring"), MPI_SUCCESS);
  CHECK(state_of(comm).resources != nullptr);
  CHECK(state_of(comm).settings == Settings::unknown);
  if (context.rank == 1) latecomer_set_network(comm, "alpha=1us,beta=1ns");
  CapturedStderr captured;
  CHECK_EQ(connect(state_of(comm)).code, MPI_SUCCESS);
  CHECK(state_of(comm).settings == Settings::different);
}

}  // namespace
}  // namespace latecomer::testing
