// The benchmark's own check: it accepts the right result and nothing else.
#include "workload.hpp"

#include <cstring>
#include <vector>

#include "clock.hpp"
#include "runner.hpp"
#include "slowness.hpp"

namespace latecomer::testing {
namespace {

/// More on each rank than on the one before; none on rank 0.
std::vector<double> rising() {
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::vector<double> delays;
  for (int rank = 0; rank < ranks; ++rank) delays.push_back(0.001 * rank);
  return delays;
}

void check_workload(const bench::Options& options) {
  const auto work = bench::make_workload(options);
  work->draw(3, rising());
  work->wipe();
  CHECK_EQ(work->wrong(), options.count);
  MPI_Allreduce(work->input(), work->result(), work->count(), work->type(), work->op(),
                MPI_COMM_WORLD);
  CHECK_EQ(work->wrong(), 0);
  static_cast<char*>(work->result())[0] ^= 1;
  CHECK_EQ(work->wrong(), 1);
  work->draw(4, rising());  // fresh data: the old result is no longer right
  CHECK(work->wrong() > options.count / 2);
}

MPI_TEST(the_benchmark_notices_wrong_elements) {
  for (const char* op : {"sum", "max", "slow-sum", "non-commutative"}) {
    for (const char* type : {"float32", "float64", "int32", "int64"}) {
      bench::Options options;
      options.count = 1000;
      options.op = op;
      options.type = type;
      check_workload(options);
    }
  }
}

std::int64_t shown(const bench::Workload& work) {
  const auto* const numbers = static_cast<const float*>(work.input());
  std::int64_t count = 0;
  for (int pixel = 0; pixel < work.count(); ++pixel) {
    const float* const colours = numbers + std::int64_t{4} * pixel;
    const bool clear = colours[3] == 0;
    CHECK(!clear || (colours[0] == 0 && colours[1] == 0 && colours[2] == 0));
    count += clear ? 0 : 1;
  }
  return count;
}

MPI_TEST(images_are_full_in_proportion_to_delays) {
  bench::Options options;
  options.count = 4000;
  options.op = "over";
  options.imbalance = bench::Imbalance::data;
  const auto work = bench::make_workload(options);
  for (std::uint64_t iteration = 0; iteration < 5; ++iteration) {
    work->draw(iteration, rising());
    const int latest = context.ranks - 1;
    const double share = latest > 0 ? static_cast<double>(context.rank) / latest : 1;
    CHECK(std::abs(static_cast<double>(shown(*work)) - 1000 * share) <= 1);
    MPI_Allreduce(work->input(), work->result(), work->count(), work->type(), work->op(),
                  MPI_COMM_WORLD);
    CHECK_EQ(work->wrong(), 0);
  }
}

MPI_TEST(a_slow_operator_takes_its_time_and_gives_the_same) {
  bench::Options options;
  options.count = 1000;
  options.imbalance = bench::Imbalance::op;
  const auto work = bench::make_workload(options);
  work->draw(1, rising());
  work->wipe();
  bench::be_slow(0.02 / options.count);
  std::vector<float> numbers(1000, 1);
  std::vector<float> sums(1000, 2);
  const double begin = bench::now();
  for (int i = 0; i < 1000; ++i) {  // in the smallest pieces
    MPI_Reduce_local(&numbers[i], &sums[i], 1, work->type(), work->op());
  }
  CHECK(bench::now() - begin >= 0.019);  // all but less than one short sleep
  CHECK(sums == std::vector<float>(1000, 3));
  bench::be_slow(0);
  MPI_Allreduce(work->input(), work->result(), work->count(), work->type(), work->op(),
                MPI_COMM_WORLD);
  CHECK_EQ(work->wrong(), 0);
}

}  // namespace
}  // namespace latecomer::testing
