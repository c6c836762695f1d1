// Planning and building are pure: threads may do them at once, on one plan. Run under the thread
// sanitizer, which sees any state they share.
#include <gtest/gtest.h>

#include <thread>

#include "algorithms/plans.hpp"
#include "reference/reference.hpp"

namespace latecomer {
namespace {

TEST(Threads, BuildAndSimulateAtOnce) {
  for (const Algorithm& row : registry()) {
    if (row.kind == Kind::native) continue;
    const Plan plan = make_plan(row, {row.collective, 7, 100}, {}, {});
    std::vector<std::string> wrong(4);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < wrong.size(); ++i) {
      threads.emplace_back([&, i] { wrong[i] = testing::run_and_compare(plan, {}, i); });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, std::vector<std::string>(4)) << to_string(row.collective) << " " << row.name;
  }
}

}  // namespace
}  // namespace latecomer
