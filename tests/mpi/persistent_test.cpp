// Persistent calls: right results whatever the order of waits, and clear errors for wrong use.
#include <algorithm>
#include <numeric>

#include "base/error.hpp"
#include "base/reproducible.hpp"
#include "communicator.hpp"
#include "latecomer/latecomer_mpi.h"
#include "runner.hpp"
#include "runtime/attachment.hpp"

namespace latecomer::testing {
namespace {

/// A request on vectors of its own.
class Reduction {
 public:
  Reduction(MPI_Comm comm, int count) : comm_(comm), mine_(static_cast<std::size_t>(count)) {
    result_.resize(mine_.size());
    CHECK_EQ(latecomer_allreduce_init(mine_.data(), result_.data(), count, MPI_INT, MPI_SUM, comm,
                                      MPI_INFO_NULL, &request_),
             MPI_SUCCESS);
  }
  ~Reduction() {
    if (request_ != LATECOMER_REQUEST_NULL) latecomer_request_free(&request_);
  }
  Reduction(const Reduction&) = delete;
  Reduction& operator=(const Reduction&) = delete;

  void start(std::uint64_t seed) {
    seed_ = seed;
    const std::vector<int> fresh = values(rank());
    std::copy(fresh.begin(), fresh.end(), mine_.begin());  // the request has the address
    std::fill(result_.begin(), result_.end(), -1);
    CHECK_EQ(latecomer_start(&request_), MPI_SUCCESS);
    const bool untouched =
        std::all_of(result_.begin(), result_.end(), [](int v) { return v == -1; });
    CHECK(untouched);
  }
  void wait() { CHECK_EQ(latecomer_wait(&request_), MPI_SUCCESS); }
  void check() {
    int ranks = 1;
    MPI_Comm_size(comm_, &ranks);
    std::vector<int> expected(mine_.size());
    for (int r = 0; r < ranks; ++r) {
      const std::vector<int> theirs = values(r);
      for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += theirs[i];
    }
    CHECK_TEXT(result_ == expected, "wrong sum, seed " + std::to_string(seed_));
  }
  latecomer_request& request() { return request_; }

 private:
  [[nodiscard]] int rank() const {
    int rank = 0;
    MPI_Comm_rank(comm_, &rank);
    return rank;
  }
  [[nodiscard]] std::vector<int> values(int rank) const {
    Random random(seed_ + 131 * static_cast<std::uint64_t>(rank));
    std::vector<int> all(mine_.size());
    for (int& value : all) value = static_cast<int>(random.below(1000));
    return all;
  }

  MPI_Comm comm_;
  std::vector<int> mine_, result_;
  std::uint64_t seed_ = 0;
  latecomer_request request_ = LATECOMER_REQUEST_NULL;
};

void shuffle(std::vector<Reduction*>& all, Random& random) {
  for (std::size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[random.below(i)]);
}

MPI_TEST(a_request_is_used_again_and_again) {
  for (const char* algorithm : {"native", "ring", "sorted_linear_tree", "fastest"}) {
    const Communicator comm;
    latecomer_set_algorithm(comm, "allreduce", algorithm);
    Reduction reduction(comm, 500);
    for (std::uint64_t i = 0; i < 5; ++i) {
      reduction.start(context.seed + i);
      reduction.wait();
      reduction.check();
    }
  }
}

/// Starts are in the same order on all ranks, waits in an order of each rank's own; blocking calls
/// and collective settings come in between.
MPI_TEST(requests_may_be_waited_for_in_any_order) {
  Random common(context.seed);
  Random own(context.seed + 17 + static_cast<std::uint64_t>(context.rank));
  const Communicator comm;
  latecomer_set_algorithm(comm, "allreduce", "ring");
  Reduction one(comm, 10), two(comm, 3000), three(comm, 77);
  std::vector<Reduction*> all = {&one, &two, &three};
  for (int round = 0; round < 12; ++round) {
    shuffle(all, common);
    for (Reduction* reduction : all) reduction->start(common.next());
    if (common.below(3) == 0) {
      const int mine = 1;
      int result = 0;
      CHECK_EQ(latecomer_allreduce(&mine, &result, 1, MPI_INT, MPI_SUM, comm), MPI_SUCCESS);
      CHECK_EQ(result, context.ranks);
    }
    if (common.below(3) == 0) latecomer_set_algorithm(comm, "allreduce", "linear_tree");
    std::vector<Reduction*> waits = all;
    shuffle(waits, own);
    for (Reduction* reduction : waits) {
      reduction->wait();
      reduction->check();
    }
  }
  latecomer_stats stats{};
  latecomer_get_stats(comm, &stats);
  CHECK(stats.handled >= 36 || context.ranks == 1);
  CHECK_EQ(stats.failed, 0U);
}

MPI_TEST(the_plan_is_made_early) {
  if (context.ranks == 1) return;
  const Communicator comm;
  latecomer_set_algorithm(comm, "allreduce", "segmented_ring");
  const CommState& state = state_of(comm);
  Reduction reduction(comm, 1000);
  CHECK_EQ(state.programs.programs_built(), 1U);
  const std::uint64_t calls = state.resources->calls;
  CHECK_EQ(calls, state.resources->earlier);  // nothing was sent
  reduction.start(context.seed);
  CHECK_EQ(state.resources->calls, calls);
  reduction.wait();
  reduction.check();
  CHECK_EQ(state.chooser.plans().plans_made(), 1U);
  CHECK_EQ(state.programs.programs_built(), 1U);
}

bool last_error_names(const std::string& word) {
  return std::string(last_error()).find(word) != std::string::npos;
}

MPI_TEST(wrong_use_of_requests_is_refused) {
  const Communicator comm;
  latecomer_set_algorithm(comm, "allreduce", "ring");
  Reduction reduction(comm, 20);
  CHECK_EQ(latecomer_wait(&reduction.request()), MPI_SUCCESS);  // not started: at once
  reduction.start(context.seed);
  CHECK_EQ(latecomer_start(&reduction.request()), MPI_ERR_REQUEST);
  CHECK_TEXT(last_error_names("'started'"), last_error());
  CHECK_EQ(latecomer_request_free(&reduction.request()), MPI_ERR_REQUEST);
  CHECK_TEXT(last_error_names("waited for"), last_error());
  CHECK_EQ(latecomer_set_arrivals(comm, nullptr, 0), MPI_ERR_ARG);
  CHECK_TEXT(last_error_names("arrivals cannot be set while a request is started"), last_error());
  CHECK_EQ(latecomer_set_network(comm, nullptr), MPI_ERR_ARG);
  CHECK_TEXT(last_error_names("network"), last_error());
  reduction.wait();
  reduction.check();
  CHECK_EQ(latecomer_request_free(&reduction.request()), MPI_SUCCESS);
  CHECK(reduction.request() == LATECOMER_REQUEST_NULL);
  CHECK_EQ(latecomer_start(&reduction.request()), MPI_ERR_REQUEST);
  CHECK_TEXT(last_error_names("'NULL'"), last_error());
  CHECK_EQ(latecomer_wait(nullptr), MPI_ERR_REQUEST);
  CHECK_EQ(latecomer_request_free(&reduction.request()), MPI_ERR_REQUEST);
  int value = 0;
  CHECK_EQ(
      latecomer_allreduce_init(&value, &value, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, nullptr),
      MPI_ERR_ARG);
  CHECK_EQ(latecomer_allreduce_init(&value, &value, 1, MPI_INT, MPI_SUM, MPI_COMM_NULL,
                                    MPI_INFO_NULL, &reduction.request()),
           MPI_ERR_COMM);
}

MPI_TEST(requests_outlive_their_communicator_harmlessly) {
  latecomer_request started = LATECOMER_REQUEST_NULL;
  latecomer_request idle = LATECOMER_REQUEST_NULL;
  const int mine = 1;
  int result = 0;
  {
    const Communicator comm;
    latecomer_set_algorithm(comm, "allreduce", "ring");
    for (latecomer_request* request : {&started, &idle}) {
      latecomer_allreduce_init(&mine, &result, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, request);
    }
    latecomer_start(&started);
  }
  CHECK_EQ(latecomer_wait(&started), MPI_ERR_REQUEST);
  CHECK_TEXT(last_error_names("freed"), last_error());
  CHECK_EQ(latecomer_start(&idle), MPI_ERR_REQUEST);
  CHECK_EQ(latecomer_wait(&idle), MPI_SUCCESS);
  CHECK_EQ(latecomer_request_free(&started), MPI_SUCCESS);
  CHECK_EQ(latecomer_request_free(&idle), MPI_SUCCESS);
}

MPI_TEST(wrong_arguments_are_told_when_waited_for) {
  const auto comm = Communicator::returning_errors();
  latecomer_set_algorithm(comm, "allreduce", "ring");
  latecomer_request request = LATECOMER_REQUEST_NULL;
  const int mine = 1;
  int result = 0;
  CHECK_EQ(latecomer_allreduce_init(&mine, &result, 1, MPI_INT, MPI_OP_NULL, comm, MPI_INFO_NULL,
                                    &request),
           MPI_SUCCESS);
  CHECK_EQ(latecomer_start(&request), MPI_SUCCESS);
  CHECK(latecomer_wait(&request) != MPI_SUCCESS);
  CHECK_EQ(latecomer_request_free(&request), MPI_SUCCESS);
}

}  // namespace
}  // namespace latecomer::testing
