// Estimates from earlier calls: all ranks hear of all arrivals, and results stay right.
#include <algorithm>
#include <chrono>
#include <thread>

#include "communicator.hpp"
#include "kinds.hpp"
#include "latecomer/latecomer_mpi.h"
#include "runner.hpp"
#include "runtime/attachment.hpp"
#include "try_reduction.hpp"

namespace latecomer::testing {
namespace {

constexpr double kLate = 0.05;  // seconds

struct Pattern {
  std::vector<double> last, expected;
};

Pattern pattern_of(MPI_Comm comm, int ranks) {
  Pattern pattern;
  pattern.last.resize(static_cast<std::size_t>(ranks));
  pattern.expected = pattern.last;
  CHECK_EQ(latecomer_get_pattern(comm, pattern.last.data(), pattern.expected.data(), ranks),
           MPI_SUCCESS);
  return pattern;
}

bool equal_everywhere(const std::vector<double>& values, MPI_Comm comm) {
  std::vector<double> min(values), max(values);
  MPI_Allreduce(values.data(), min.data(), static_cast<int>(values.size()), MPI_DOUBLE, MPI_MIN,
                comm);
  MPI_Allreduce(values.data(), max.data(), static_cast<int>(values.size()), MPI_DOUBLE, MPI_MAX,
                comm);
  return min == max;
}

/// True if rank `late` came last, by more than half of kLate.
bool shows_late(const std::vector<double>& arrivals, int late) {
  const auto [first, last] = std::minmax_element(arrivals.begin(), arrivals.end());
  return last - arrivals.begin() == late && *last > kLate / 2 && *first == 0;
}

/// On a busy machine another rank may come even later: then the call is repeated. In a reduced set
/// each algorithm has one of the counts.
MPI_TEST(every_algorithm_tells_all_ranks_who_was_late) {
  constexpr int kTries = 5;
  const Kinds kinds;
  std::uint64_t first = 0;
  for (const Algorithm& row : registry(Collective::allreduce)) {
    if (row.kind == latecomer::Kind::native || row.name == "auto") continue;
    const Communicator comm;
    const int late = context.ranks - 1;
    latecomer_set_algorithm(comm, "allreduce", std::string(row.name).c_str());
    CHECK_EQ(latecomer_set_estimate(comm, "online"), MPI_SUCCESS);
    std::uint64_t drawn = first++;
    for (const int count : {1, context.ranks, 40000}) {
      if (!context.takes(drawn++)) continue;
      bool shown = context.ranks == 1;
      for (int tries = 0; tries == 0 || (!shown && tries < kTries); ++tries) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (context.ranks > 1 && context.rank == late) {
          std::this_thread::sleep_for(std::chrono::duration<double>(kLate));
        }
        try_allreduce(comm, kinds.named("float sum"), {count, false, 0}, context.seed,
                      std::string(row.name));
        if (context.ranks == 1) continue;
        const Pattern pattern = pattern_of(comm, context.ranks);
        const bool equal = equal_everywhere(pattern.last, MPI_COMM_WORLD);
        CHECK(equal);
        CHECK(equal_everywhere(pattern.expected, MPI_COMM_WORLD));
        shown = equal && shows_late(pattern.last, late);  // alike on all ranks
      }
      CHECK_TEXT(shown, std::string(row.name) + ", " + std::to_string(count) + " elements");
    }
  }
}

MPI_TEST(estimates_must_be_known_and_the_same) {
  const Communicator comm;
  CHECK_EQ(latecomer_set_estimate(comm, "perhaps"), MPI_ERR_ARG);
  CHECK_EQ(std::string(latecomer_last_error()),
           "estimate: 'perhaps' is not usable; right would be given or online");
  if (context.ranks > 1) {
    CHECK_EQ(latecomer_set_estimate(comm, context.rank == 0 ? "online" : "given"), MPI_ERR_ARG);
    CHECK(std::string(latecomer_last_error()).find("the same value on all ranks") !=
          std::string::npos);
  }
  std::vector<double> times(static_cast<std::size_t>(context.ranks));
  CHECK_EQ(latecomer_get_pattern(comm, times.data(), nullptr, context.ranks), MPI_ERR_ARG);
  CHECK(std::string(latecomer_last_error()).find("online") != std::string::npos);
  CHECK_EQ(latecomer_set_estimate(comm, "online"), MPI_SUCCESS);
  if (context.ranks == 1) return;
  CHECK_EQ(latecomer_get_pattern(comm, times.data(), nullptr, context.ranks + 1), MPI_ERR_ARG);
  CHECK_EQ(latecomer_set_arrivals(comm, times.data(), context.ranks), MPI_ERR_ARG);
  CHECK(std::string(latecomer_last_error()).find("online") != std::string::npos);
}

}  // namespace
}  // namespace latecomer::testing
