// Reproducible mode: the same bits whatever is known or assumed of arrivals and networks. Without
// it they do differ, or these tests would prove nothing.
#include "base/reproducible.hpp"

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <thread>

#include "algorithms/registry.hpp"
#include "base/error.hpp"
#include "captured_stderr.hpp"
#include "communicator.hpp"
#include "latecomer/latecomer_mpi.h"
#include "runner.hpp"
#include "runtime/attachment.hpp"
#include "try_reduction.hpp"
#include "variable.hpp"

namespace latecomer::testing {
namespace {

/// The circumstances that must not matter, the same on all ranks.
struct Disturbance {
  std::string about;
  std::vector<double> arrivals;
  std::string network;
  std::string environment;
  int late = -1;  // of earlier calls, which were watched
};

std::vector<double> random_times(Random& random, int ranks) {
  std::vector<double> times;
  for (int i = 0; i < ranks; ++i) times.push_back(0.05 * random.uniform());
  return times;
}

std::vector<Disturbance> disturbances(Random& random, int ranks) {
  const std::string networks[] = {"alpha=1ns,beta=80ns,eager=1KiB", "alpha=1s,beta=1ns",
                                  "alpha=3us,beta=0.1ns,ports=2,per_node=2"};
  std::vector<Disturbance> all(1);
  all[0].about = "nothing";
  for (const std::string& network : networks) {
    all.push_back({"arrivals, network", random_times(random, ranks), network, "", -1});
    all.push_back({"environment", {}, "", network, -1});
  }
  const auto late = static_cast<int>(random.below(static_cast<std::size_t>(ranks)));
  all.push_back({"history", {}, networks[random.below(3)], "", late});
  return all;
}

/// Sums of these depend on the order.
template <class Number>
std::vector<Number> values(std::size_t count, std::uint64_t seed, int rank) {
  Random random(seed + 7919 * static_cast<std::uint64_t>(rank));
  std::vector<Number> all;
  for (std::size_t i = 0; i < count; ++i) {
    const double size = std::exp2(static_cast<double>(random.below(20)));
    all.push_back(static_cast<Number>((random.uniform() - 0.5) * size));
  }
  return all;
}

struct Sum {
  std::size_t count;
  MPI_Datatype type;
};

template <class Number>
std::vector<char> bits_of_sum(MPI_Comm comm, const Sum& sum, std::uint64_t seed, bool in_place) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  const std::vector<Number> mine = values<Number>(sum.count, seed, rank);
  std::vector<Number> result = mine;
  const void* const source = in_place ? MPI_IN_PLACE : mine.data();
  CHECK_EQ(latecomer_allreduce(source, result.data(), static_cast<int>(sum.count), sum.type,
                               MPI_SUM, comm),
           MPI_SUCCESS);
  std::vector<char> bits(result.size() * sizeof(Number));
  std::memcpy(bits.data(), result.data(), bits.size());
  return bits;
}

std::vector<char> bits_of(MPI_Comm comm, const Sum& sum, std::uint64_t seed, bool in_place) {
  return sum.type == MPI_FLOAT ? bits_of_sum<float>(comm, sum, seed, in_place)
                               : bits_of_sum<double>(comm, sum, seed, in_place);
}

/// Watched calls in which one rank is late, until that is expected.
void learn(MPI_Comm comm, const Sum& sum, int late) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  CHECK_EQ(latecomer_set_estimate(comm, "online"), MPI_SUCCESS);
  for (std::uint64_t call = 0; call < 5; ++call) {
    MPI_Barrier(comm);
    if (rank == late) std::this_thread::sleep_for(std::chrono::milliseconds(3));
    bits_of(comm, sum, call, false);
  }
}

std::vector<char> disturbed_sum(const std::string& algorithm, const Disturbance& disturbance,
                                const Sum& sum, std::uint64_t seed, bool reproducible) {
  std::optional<Variable> environment;
  if (!disturbance.environment.empty()) {
    environment.emplace("LATECOMER_NETWORK", disturbance.environment);
  }
  const Communicator comm;
  CHECK_EQ(latecomer_set_algorithm(comm, "allreduce", algorithm.c_str()), MPI_SUCCESS);
  CHECK_EQ(latecomer_set_reproducible(comm, reproducible ? 1 : 0), MPI_SUCCESS);
  if (!disturbance.network.empty()) latecomer_set_network(comm, disturbance.network.c_str());
  if (!disturbance.arrivals.empty()) {
    latecomer_set_arrivals(comm, disturbance.arrivals.data(),
                           static_cast<int>(disturbance.arrivals.size()));
  }
  if (disturbance.late >= 0) learn(comm, sum, disturbance.late);
  const std::vector<char> bits = bits_of(comm, sum, seed, seed % 2 == 0);
  latecomer_stats stats{};
  latecomer_get_stats(comm, &stats);
  CHECK_EQ(stats.fallback_settings, 0U);
  // An automatic choice outside of the mode may leave a single call to the library. In the mode the
  // library gets the calls of a protocol, whose order of combining follows the arrivals.
  const Algorithm& row = *parse_choice(Collective::allreduce, algorithm).algorithm;
  const bool follows_arrivals = row.kind == latecomer::Kind::protocol;
  const bool handles = reproducible ? !follows_arrivals : algorithm != "auto";
  CHECK(stats.handled > 0 || !handles || state_of(comm).ranks == 1);
  CHECK(stats.handled == 0 || !(reproducible && follows_arrivals));
  // The library's bits may depend on its earlier calls: MPICH's do on one node.
  return reproducible && follows_arrivals ? std::vector<char>{} : bits;
}

/// The number of disturbed sums that have other bits than the first one, which nothing disturbs.
int other_bits(const Context& context, const std::string& algorithm, const Sum& sum,
               bool reproducible) {
  Random random(context.seed);
  Random turns(fnv1a(algorithm) + sum.count);
  int others = 0;
  std::vector<char> expected;
  for (const Disturbance& disturbance : disturbances(random, context.ranks)) {
    if (!context.takes(turns.next()) && !expected.empty()) continue;
    const auto bits = disturbed_sum(algorithm, disturbance, sum, context.seed, reproducible);
    if (expected.empty()) expected = bits;
    if (bits == expected) continue;
    ++others;
    CHECK_TEXT(!reproducible, algorithm + ", " + std::to_string(sum.count) +
                                  " elements: other bits after " + disturbance.about);
  }
  return others;
}

MPI_TEST(reproducible_sums_have_the_same_bits) {
  int others = 0;
  for (const Algorithm& row : registry(Collective::allreduce)) {
    if (row.kind == latecomer::Kind::native) continue;
    for (const Sum& sum : {Sum{5, MPI_FLOAT}, Sum{9000, MPI_FLOAT}, Sum{5000, MPI_DOUBLE}}) {
      other_bits(context, std::string(row.name), sum, true);
      if (row.arrival_aware || row.name == "fastest") {
        others += other_bits(context, std::string(row.name), sum, false);
      }
    }
  }
  if (context.ranks > 2) CHECK_TEXT(others > 0, "no sum differs without the mode");
}

MPI_TEST(reproducible_mode_is_checked) {
  const Communicator comm;
  CHECK_EQ(latecomer_set_reproducible(comm, 2), MPI_ERR_ARG);
  const std::string said = last_error();
  CHECK_TEXT(said.find("'2'") != std::string::npos && said.find("0 or 1") != std::string::npos,
             said);
  if (context.ranks > 1) {
    CHECK_EQ(latecomer_set_reproducible(comm, context.rank == 0 ? 1 : 0), MPI_ERR_ARG);
    CHECK_TEXT(std::string(last_error()).find("all ranks") != std::string::npos, last_error());
  }
  CHECK(!state_of(comm).chooser.policy().reproducible);
}

MPI_TEST(the_environment_asks_for_reproducible_mode) {
  {
    const Variable environment("LATECOMER_REPRODUCIBLE", "1");
    const Communicator comm;
    CHECK(state_of(comm).chooser.policy().reproducible);
    CHECK_EQ(latecomer_set_reproducible(comm, 0), MPI_SUCCESS);
    CHECK(!state_of(comm).chooser.policy().reproducible);
  }
  const Variable environment("LATECOMER_REPRODUCIBLE", "0");
  const Communicator comm;
  CHECK(!state_of(comm).chooser.policy().reproducible);
}

MPI_TEST(a_mode_that_cannot_be_read_is_reported_once) {
  const Variable environment("LATECOMER_REPRODUCIBLE", "yes");
  CapturedStderr captured;
  {
    const Communicator one;
    const Communicator two;
    CHECK(!state_of(one).chooser.policy().reproducible);
    CHECK(!state_of(two).chooser.policy().reproducible);
  }
  const std::string text = captured.text();
  if (context.rank != 0) {  // rank 0 speaks for the job
    CHECK_EQ(text, "");
    return;
  }
  const auto first = text.find("LATECOMER_REPRODUCIBLE is not used: ");
  CHECK_TEXT(first != std::string::npos && text.find("'yes'") != std::string::npos, text);
  CHECK_TEXT(text.find("LATECOMER_REPRODUCIBLE", first + 1) == std::string::npos, text);
}

MPI_TEST(modes_that_differ_go_to_the_mpi_library) {
  if (context.ranks == 1) return;
  const Variable environment("LATECOMER_REPRODUCIBLE", context.rank == 0 ? "" : "1");
  const Communicator comm;
  CapturedStderr captured;
  latecomer_set_algorithm(comm, "allreduce", "ring");  // compares the mode
  try_allreduce(comm, Kinds().named("int sum"), {100, false, 0}, context.seed, "ring");
  latecomer_stats stats{};
  latecomer_get_stats(comm, &stats);
  const std::string said = captured.text();
  CHECK_EQ(stats.fallback_settings, 1U);
  CHECK_TEXT((said.find("reproducible") != std::string::npos) == (context.rank == 0), said);
}

}  // namespace
}  // namespace latecomer::testing
