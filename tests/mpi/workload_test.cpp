// The benchmark's own check: it accepts the right result and nothing else.
#include "workload.hpp"

#include <cstring>

#include "runner.hpp"

namespace latecomer::testing {
namespace {

void check_workload(const bench::Options& options) {
  const auto work = bench::make_workload(options);
  work->draw(3);
  work->wipe();
  CHECK_EQ(work->wrong(), options.count);
  MPI_Allreduce(work->input(), work->result(), work->count(), work->type(), work->op(),
                MPI_COMM_WORLD);
  CHECK_EQ(work->wrong(), 0);
  static_cast<char*>(work->result())[0] ^= 1;
  CHECK_EQ(work->wrong(), 1);
  work->draw(4);  // fresh data: the old result is no longer right
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

}  // namespace
}  // namespace latecomer::testing
