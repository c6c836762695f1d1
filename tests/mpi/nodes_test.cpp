// Ranks that share the memory of their node: all-reduce in two levels over MPI.
#include <dirent.h>
#include <sys/resource.h>

#include <chrono>
#include <set>
#include <thread>

#include "algorithms/plans.hpp"
#include "allocations.hpp"
#include "captured_stderr.hpp"
#include "communicator.hpp"
#include "latecomer/latecomer_mpi.h"
#include "runner.hpp"
#include "runtime/attachment.hpp"
#include "runtime/connection/node_sharing.hpp"
#include "telemetry/watch.hpp"
#include "transport_calls.hpp"
#include "try_reduction.hpp"
#include "variable.hpp"
#include "with_thread.hpp"

namespace latecomer::testing {
namespace {

constexpr const char* kNodes = "LATECOMER_NODES";

/// A communicator whose reductions run on nodes of so many ranks.
struct OnNodes {
  explicit OnNodes(const std::string& per_node, const char* algorithm = "nodes")
      : nodes(kNodes, per_node) {
    CHECK_EQ(latecomer_set_algorithm(comm, "allreduce", algorithm), MPI_SUCCESS);
    CHECK_EQ(latecomer_set_algorithm(comm, "reduce", algorithm), MPI_SUCCESS);
  }
  [[nodiscard]] CommState& state() const { return state_of(comm); }
  [[nodiscard]] bool shares_memory() const {
    return state().resources != nullptr && state().resources->shares_memory;
  }

  Variable nodes;
  Communicator comm = Communicator::returning_errors();
};

std::vector<std::string> placements(const Context& context) {
  std::vector<std::string> all = {"2", "off"};
  if (!context.quick) all.emplace_back("3");
  all.push_back(std::to_string(context.ranks));
  return all;
}

bool shares(const Context& context, const std::string& per_node) {
  return context.ranks > 1 && per_node != "off";
}

MPI_TEST(all_reduce_on_nodes_is_right_for_all_kinds) {
  const Kinds kinds;
  std::uint64_t seed = context.seed;
  for (const std::string& nodes : placements(context)) {
    const OnNodes on(nodes);
    for (const Kind& kind : kinds.all()) {
      for (const Count count : {0, 1, 2, 7, 1000, 3000}) {
        for (const bool in_place : {false, true}) {
          try_allreduce(on.comm, kind, {count, in_place}, ++seed, kind.name + " nodes=" + nodes);
        }
      }
    }
    CHECK_EQ(on.shares_memory(), shares(context, nodes));
  }
}

/// Vectors side by side in the node's buffer, combined in the order of ranks: operators that do not
/// commute always, others on request.
MPI_TEST(reductions_in_cells_are_right_for_all_kinds) {
  const Kinds kinds;
  std::uint64_t seed = context.seed;
  for (const std::string& nodes : placements(context)) {
    const OnNodes on(nodes, "nodes:cells=1:pieces=3");
    for (const Kind& kind : kinds.all()) {
      for (const Count count : {0, 1, 7, 3000}) {
        const bool in_place = seed % 2 == 0;
        const double sleep = seed % 5 == static_cast<std::uint64_t>(context.rank) ? 1e-3 : 0;
        const std::string about = kind.name + " in cells, nodes=" + nodes;
        try_allreduce(on.comm, kind, {count, in_place, sleep}, ++seed, about);
        const int root = static_cast<int>(seed % static_cast<std::uint64_t>(context.ranks));
        try_reduce(on.comm, kind, {count, in_place, sleep, root}, ++seed, about);
      }
    }
    CHECK_EQ(on.shares_memory(), shares(context, nodes));
    latecomer_stats stats{};
    latecomer_get_stats(on.comm, &stats);
    CHECK_EQ(stats.failed, 0U);
  }
}

/// Rank r's element i is r + i.
void sum_doubles(const Context& context, MPI_Comm comm, Count count) {
  std::vector<double> all(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = context.rank + static_cast<double>(i);
  CHECK_EQ(latecomer_allreduce(MPI_IN_PLACE, all.data(), static_cast<int>(count), MPI_DOUBLE,
                               MPI_SUM, comm),
           MPI_SUCCESS);
  const double ranks = context.ranks;
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double right = ranks * static_cast<double>(i) + ranks * (ranks - 1) / 2;
    if (all[i] != right) ++wrong;
  }
  CHECK_EQ(wrong, 0U);
}

/// The buffer grows from call to call, and in the end the vector is longer than it may be.
MPI_TEST(vectors_on_nodes_may_grow) {
  const Count longest = context.quick ? 300000 : kMaxNodeBytes / 8 + 1000;
  for (const std::string& nodes : placements(context)) {
    const OnNodes on(nodes);
    for (Count count = 1; count < longest; count *= 37) sum_doubles(context, on.comm, count);
    for (const Count count : {longest, Count{5}, longest}) sum_doubles(context, on.comm, count);
  }
}

MPI_TEST(ranks_come_late_to_their_nodes) {
  const Kinds kinds;
  Random random(context.seed + static_cast<std::uint64_t>(context.rank));
  for (const std::string& nodes : placements(context)) {
    const OnNodes on(nodes);
    for (int call = 0; call < (context.quick ? 10 : 30); ++call) {
      const Count count = call % 3 == 0 ? 40000 : 100;
      const double sleep = random.below(3) == 0 ? 2e-3 * random.uniform() : 0;
      try_allreduce(on.comm, kinds.named("float sum"), {count, call % 2 == 0, sleep},
                    context.seed + static_cast<std::uint64_t>(call), nodes);
    }
  }
}

int open_files() {
  int count = 0;
  DIR* const folder = opendir("/proc/self/fd");
  while (readdir(folder) != nullptr) ++count;
  closedir(folder);
  return count;
}

/// Calls go on while other ranks free communicators, which waits for nobody.
MPI_TEST(many_communicators_with_nodes_are_made_and_freed) {
  const Kinds kinds;
  int after_some = 0;
  for (int i = 0; i < 40; ++i) {
    const OnNodes on(i % 2 == 0 ? "2" : std::to_string(context.ranks));
    try_allreduce(on.comm, kinds.named("int64 max"), {1000}, context.seed, "freed");
    CHECK_EQ(on.shares_memory(), context.ranks > 1);
    if (i == 10) after_some = open_files();
    if (i > 10) CHECK(open_files() <= after_some + 2);
  }
}

/// A limit on the length of files of this process.
class FileLimit {
 public:
  explicit FileLimit(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileLimit() { setrlimit(RLIMIT_FSIZE, &before_); }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;

 private:
  rlimit before_{};
};

/// The first rank cannot make memory; the nodes of others can, and do not use it.
MPI_TEST(without_memory_on_one_node_no_rank_shares_any) {
  if (context.ranks == 1) return;
  const Kinds kinds;
  for (const std::string& nodes : std::set{std::string("2"), std::to_string(context.ranks)}) {
    const OnNodes on(nodes);
    std::string log;
    {
      CapturedStderr captured;
      const FileLimit limit(context.rank == 0 ? rlim_t{1} << 20 : RLIM_INFINITY);
      for (const Count count : {1000, 40000, 1000}) {
        try_allreduce(on.comm, kinds.named("int sum"), {count}, context.seed, nodes);
      }
      log = captured.text();
    }
    const std::string words = "share no memory, since rank 0 cannot (File too large)";
    CHECK_TEXT((log.find(words) != std::string::npos) == (context.rank == 0), log);
    CHECK_EQ(log.find(words), log.rfind(words));
    CHECK(!on.shares_memory() && on.state().resources->placement.empty());
    try_allreduce(on.comm, kinds.named("int sum"), {500}, context.seed, nodes);
    CHECK_EQ(stats_of(on.comm).handled + stats_of(on.comm).fallback_plan, 4U);
    CHECK(stats_of(on.comm).handled >= 3U);
  }
}

/// Closes the descriptors of nodes' memories, as programs do that close all they do not know.
void close_memories() {
  for (int number = 3; number < 1024; ++number) {
    char target[64] = "";
    const std::string link = "/proc/self/fd/" + std::to_string(number);
    const ssize_t length = readlink(link.c_str(), target, sizeof target - 1);
    if (length > 0 && std::string(target).find("memfd:latecomer") != std::string::npos) {
      close(number);
    }
  }
}

/// One rank's part of the memory does not grow: all give it up, in the call that needs more.
MPI_TEST(memory_that_does_not_grow_on_one_rank_is_given_up_by_all) {
  if (context.ranks == 1) return;
  const Kinds kinds;
  for (const std::string& nodes : std::set{std::string("2"), std::to_string(context.ranks)}) {
    const OnNodes on(nodes);
    std::string log;
    {
      CapturedStderr captured;
      for (const Count count : {1000, 1000, 300000, 1000, 300000}) {
        if (count == 300000 && context.rank == 1) close_memories();
        try_allreduce(on.comm, kinds.named("int sum"), {count}, context.seed, nodes);
        CHECK_EQ(on.shares_memory(), count == 1000 && stats_of(on.comm).handled < 3);
      }
      log = captured.text();
    }
    const std::string words = "share no memory, since rank 1 cannot (Bad file descriptor)";
    CHECK_TEXT((log.find(words) != std::string::npos) == (context.rank == 0), log);
    CHECK_EQ(stats_of(on.comm).handled + stats_of(on.comm).fallback_plan, 5U);
    CHECK_EQ(stats_of(on.comm).failed, 0U);
  }
}

/// Elements that lie so far apart that a node's memory might not hold them are reduced without it.
MPI_TEST(elements_that_lie_far_apart_do_without_nodes) {
  if (context.ranks == 1) return;
  const OnNodes on("2");
  MPI_Datatype apart = MPI_DATATYPE_NULL;
  MPI_Type_create_resized(MPI_INT, 0, 1000, &apart);
  MPI_Type_commit(&apart);
  CHECK(!fits_node(Layout(apart)) && fits_node(Layout(MPI_INT)));
  MPI_Op sum = MPI_OP_NULL;
  const auto add = [](void* in, void* inout, int* count, MPI_Datatype*) {
    for (int i = 0; i < *count; ++i) {
      int left = 0;
      int right = 0;
      std::memcpy(&left, static_cast<char*>(in) + 1000 * i, sizeof left);
      std::memcpy(&right, static_cast<char*>(inout) + 1000 * i, sizeof right);
      right += left;
      std::memcpy(static_cast<char*>(inout) + 1000 * i, &right, sizeof right);
    }
  };
  MPI_Op_create(add, 1, &sum);
  std::vector<int> mine(2500, context.rank + 1);
  std::vector<int> all(2500);
  CHECK_EQ(latecomer_allreduce(mine.data(), all.data(), 10, apart, sum, on.comm), MPI_SUCCESS);
  CHECK_EQ(all[250], context.ranks * (context.ranks + 1) / 2);
  CHECK_EQ(stats_of(on.comm).handled, 1U);
  CHECK(!on.shares_memory());
  MPI_Op_free(&sum);
  MPI_Type_free(&apart);
}

struct Ended {
  int code;
  std::string error;
  std::string log;
};

Ended call(MPI_Comm comm, int count) {
  std::vector<int> mine(static_cast<std::size_t>(count), 1), result(mine);
  CapturedStderr captured;
  const int code = latecomer_allreduce(mine.data(), result.data(), count, MPI_INT, MPI_SUM, comm);
  return {code, latecomer_last_error(), captured.text()};
}

/// Each rank believes to be the first one, and so the driver of its node. `calls`: before, alike.
void disagree_on_drivers(const Context& context, int calls, int count, const std::string& nodes) {
  if (context.ranks == 1 || with_thread()) return;
  const OnNodes on(nodes);
  latecomer_set_long_wait(on.comm, 0.2);
  for (int i = 0; i < calls; ++i) CHECK_EQ(call(on.comm, count).code, MPI_SUCCESS);
  MPI_Barrier(MPI_COMM_WORLD);  // a failure reaches ranks in earlier calls too
  std::vector<double> arrivals(static_cast<std::size_t>(context.ranks), 1.0);
  arrivals[static_cast<std::size_t>(context.rank)] = 0;
  latecomer_set_arrivals(on.comm, arrivals.data(), context.ranks);
  const Ended ended = call(on.comm, count);
  CHECK_EQ(ended.code, disagreement_class());
  const int named = ended.error.find("follows another plan") != std::string::npos ? 1 : 0;
  int anybody = 0;
  MPI_Allreduce(&named, &anybody, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  CHECK_EQ(anybody, 1);
  CHECK(call(on.comm, count).error.find("failed earlier") != std::string::npos);
}

MPI_TEST(ranks_of_a_node_with_different_plans_are_named) {
  for (const int calls : {0, 1}) {
    for (const int count : {10, 100000}) {
      disagree_on_drivers(context, calls, count, std::to_string(context.ranks));
      disagree_on_drivers(context, calls, count, "2");
    }
  }
}

/// A node of all ranks has no messages: only flags tell of the missing one.
MPI_TEST(long_waits_name_the_mates_that_are_missing) {
  if (context.ranks == 1 || with_thread()) return;
  const OnNodes on(std::to_string(context.ranks));
  CHECK_EQ(call(on.comm, 100).code, MPI_SUCCESS);
  latecomer_set_long_wait(on.comm, 0.2);  // no rank waits so long for another by chance
  MPI_Barrier(MPI_COMM_WORLD);
  const int late = context.ranks - 1;
  if (context.rank == late) std::this_thread::sleep_for(std::chrono::milliseconds(500));
  const Ended ended = call(on.comm, 100);
  CHECK_EQ(ended.code, MPI_SUCCESS);
  if (context.rank == late) return;
  const std::string words = "for rank " + std::to_string(late) + " of its node to enter the call";
  CHECK_TEXT(ended.log.find(words) != std::string::npos, ended.log);
}

/// A mate of a driver waits for its flags, and names the rank that knows more.
MPI_TEST(long_waits_name_the_driver_of_the_node) {
  if (context.ranks < 4 || with_thread()) return;
  const OnNodes on("2");
  CHECK_EQ(call(on.comm, 100).code, MPI_SUCCESS);
  latecomer_set_long_wait(on.comm, 0.2);  // no rank waits so long for another by chance
  MPI_Barrier(MPI_COMM_WORLD);
  if (context.rank == context.ranks - 1) {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
  }
  const Ended ended = call(on.comm, 100);
  CHECK_EQ(ended.code, MPI_SUCCESS);
  if (context.rank != 1) return;
  CHECK_TEXT(ended.log.find("(rank 0 drives its node)") != std::string::npos, ended.log);
}

MPI_TEST(nodes_that_cannot_be_read_are_reported_once) {
  if (context.ranks == 1) return;
  for (const char* const wrong :
       {"some", "0", "-2", "2x", "1e9", "1e400", "0x10", " 4", "4 ", "+4", "4.5", "4.0", "off ",
        "Off", "64Ki", "2147483648", "99999999999999999999", "\xff", "4\n"}) {
    const Variable variable(kNodes, wrong);
    CapturedStderr captured;
    CHECK_EQ(ranks_per_node(), 0U);
    const bool told =
        captured.text().find("right would be off, or a whole number") != std::string::npos;
    CHECK_EQ(told, std::string_view(wrong) == "some" && context.rank == 0);
  }
  const auto read = [](const char* text) {
    const Variable variable(kNodes, text);
    return ranks_per_node();
  };
  CHECK_EQ(read("off"), 1U);
  CHECK_EQ(read("1"), 1U);
  CHECK_EQ(read("0004"), 4U);
  CHECK_EQ(read("2147483647"), 2147483647U);
}

/// Where ranks do not share nodes nothing is made for them.
MPI_TEST(other_algorithms_make_no_memory) {
  const Kinds kinds;
  const Communicator comm;
  latecomer_set_algorithm(comm, "allreduce", "ring");
  try_allreduce(comm, kinds.named("int sum"), {1000}, context.seed, "ring");
  if (context.ranks == 1) return;
  const CommResources& resources = *state_of(comm).resources;
  CHECK(!resources.placement.empty());  // tests run on one machine
  CHECK(!resources.shares_memory && !resources.node);
}

MPI_TEST(calls_on_nodes_after_the_first_allocate_nothing) {
  if (context.ranks == 1) return;
  const Kinds kinds;
  for (const std::string& nodes : {std::string("2"), std::to_string(context.ranks)}) {
    const OnNodes on(nodes);
    try_allreduce(on.comm, kinds.named("int sum"), {100}, context.seed, "first");
    CommResources& resources = *on.state().resources;
    CHECK(resources.shares_memory);
    Knowledge knowledge;
    knowledge.placement = resources.placement;
    knowledge.telemetry = true;
    MPI_Barrier(MPI_COMM_WORLD);
    const std::lock_guard hold(on.state().lock);
    for (const Count count : {1, 50000}) {
      const Problem problem{Collective::allreduce, context.ranks, count, 8};
      const Plan plan =
          make_plan(find_algorithm(Collective::allreduce, "nodes"), problem, {}, knowledge);
      const Communicator comm = Communicator::returning_errors();
      MpiTransport transport(comm);
      TransportCalls calls(transport, plan, context.rank);
      std::vector<std::uint64_t> mine(static_cast<std::size_t>(count), 3), all(mine);
      ArrivalStamps stamps(context.ranks);
      std::uint64_t number = 0;
      const bool used = calls.context().flags > 0;  // not where a node has one rank
      const auto one = [&] {
        stamps.begin();
        stamps.arrive(context.rank, {1.0, 0, 0});
        calls(++number, mine.data(), all.data(), MPI_SUM, &stamps,
              used ? resources.node.get() : nullptr);
      };
      for (int i = 0; i < 20; ++i) one();
      const std::size_t fewest = fewest_allocations(5, [&] {
        for (int i = 0; i < 5; ++i) one();
      });
      CHECK_EQ(fewest, 0U);
      CHECK(stamps.complete());
      CHECK(all ==
            std::vector<std::uint64_t>(all.size(), 3U * static_cast<unsigned>(context.ranks)));
    }
  }
}

}  // namespace
}  // namespace latecomer::testing
