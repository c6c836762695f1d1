#include "algorithms/registry.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "algorithms/plans.hpp"
#include "base/error.hpp"
#include "capi/core/core.hpp"

namespace latecomer {
namespace {

constexpr Problem kProblem{Collective::allreduce, 4, 100};

std::string error_of(const std::string& choice) {
  try {
    (void)parse_choice(Collective::allreduce, choice);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Registry, RowsAreSortedAndComplete) {
  const auto rows = registry();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Algorithm& row = rows[i];
    if (i > 0) {
      EXPECT_LT(std::pair(rows[i - 1].collective, rows[i - 1].name),
                std::pair(row.collective, row.name));
    }
    EXPECT_EQ(row.kind == Kind::program, row.build != nullptr) << row.name;
    EXPECT_EQ(row.kind == Kind::protocol, row.executor != nullptr) << row.name;
    EXPECT_EQ(row.kind == Kind::native, row.cost == nullptr) << row.name;
  }
}

Algorithm usable() {
  return {.cost_formula = "alpha",
          .source = "a test",
          .build = [](const Plan& /*plan*/, Builder& /*builder*/) {},
          .cost = [](const Plan& /*plan*/) { return Cost{}; }};
}
Algorithm without_build() {
  Algorithm row = usable();
  row.build = nullptr;
  return row;
}
Algorithm without_cost() {
  Algorithm row = usable();
  row.cost = nullptr;
  return row;
}
Algorithm without_formula() {
  Algorithm row = usable();
  row.cost_formula = {};
  return row;
}
Algorithm without_source() {
  Algorithm row = usable();
  row.source = {};
  return row;
}

std::string error_of_rows(const std::vector<DeclaredRow>& rows) {
  try {
    (void)make_rows(rows);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(MakeRows, ErrorsNameTheRowAndItsLack) {
  const auto error = [](Algorithm (*row)()) { return error_of_rows({{"reduce", "new", row}}); };
  const std::string start = "row of reduce: 'new' is not usable; right would be one with ";
  EXPECT_EQ(error(usable), "no error");
  EXPECT_EQ(error(without_build), start + "either `build` or `executor`");
  EXPECT_EQ(error(without_cost), start + "`cost`");
  EXPECT_EQ(error(without_formula), start + "`cost_formula`");
  EXPECT_EQ(error(without_source), start + "`source`");
}

TEST(MakeRows, RefusesTwoOfOneNameAndUnknownCollectives) {
  EXPECT_EQ(error_of_rows({{"reduce", "new", usable}, {"bcast", "new", usable}}), "no error");
  EXPECT_NE(error_of_rows({{"reduce", "new", usable}, {"every", "new", usable}})
                .find("row of reduce: 'new' is not usable; right would be one with a name of its "
                      "own"),
            std::string::npos);
  EXPECT_NE(error_of_rows({{"bcast", "native", usable}}).find("row of bcast: 'native'"),
            std::string::npos);
  EXPECT_NE(error_of_rows({{"scan", "new", usable}}).find("'scan' is not usable"),
            std::string::npos);
}

TEST(MakeRows, EveryCollectiveHasARowForEvery) {
  const std::vector<Algorithm> rows = make_rows(std::vector<DeclaredRow>{{"every", "new", usable}});
  EXPECT_EQ(rows.size(), 2 * kCollectives);  // and `native`
  EXPECT_EQ(rows.front().collective, Collective::allgather);
  EXPECT_EQ(rows.back().collective, Collective::scatter);
}

TEST(Registry, TextsNeedNoEscapesInJson) {
  for (const Algorithm& row : registry()) {
    for (const std::string_view text : {row.name, row.cost_formula, row.source}) {
      EXPECT_EQ(text.find_first_of("\"\\\n"), std::string_view::npos) << row.name;
    }
    for (const Parameter& parameter : row.parameters) {
      EXPECT_EQ(parameter.meaning.find_first_of("\"\\\n"), std::string_view::npos) << row.name;
    }
  }
  EXPECT_NE(registry_as_json().find("\"name\":\"native\""), std::string::npos);
}

TEST(Choice, ErrorsNameValueAndRemedy) {
  EXPECT_NE(error_of("rign").find("'rign' is not usable; right would be one of auto, circulant"),
            std::string::npos);
  EXPECT_NE(error_of("native:segments=4").find("none, it has no parameters"), std::string::npos);
  EXPECT_NE(error_of("ring:segments=4").find("one of progress"), std::string::npos);
  EXPECT_NE(error_of("segmented_ring:parts=4").find("one of segments"), std::string::npos);
  EXPECT_NE(error_of("segmented_ring:segments").find("name=value, as in segments=4"),
            std::string::npos);
  EXPECT_NE(error_of("ring:").find("name=value, as in progress=4"), std::string::npos);
  EXPECT_NE(error_of("native:").find("none, it has no parameters"), std::string::npos);
  EXPECT_NE(error_of("segmented_ring:segments=0").find("from 1 up"), std::string::npos);
  EXPECT_NE(error_of("segmented_ring:segments=-1").find("from 1 up"), std::string::npos);
  EXPECT_NE(error_of("segmented_ring:segments=4:segments=8").find("given once"), std::string::npos);
  EXPECT_NE(error_of("linear_tree:override=up").find("ring or back"), std::string::npos);
}

TEST(Choice, ParametersReadBack) {
  const Choice choice =
      parse_choice(Collective::allreduce, "linear_tree:segments=64:override=back");
  const Plan plan = make_plan(*choice.algorithm, kProblem, choice.parameters, {});
  EXPECT_EQ(describe_parameters(plan), "override=back segments=64");
}

TEST(MakePlan, RefusesWhatAnAlgorithmDoesNotTake) {
  const Algorithm& ring = find_algorithm(Collective::allreduce, "ring");
  Problem problem = kProblem;
  problem.commutative = false;
  EXPECT_THROW((void)make_plan(ring, problem, {}, {}), Error);
  std::string why;
  EXPECT_FALSE(accepts(ring, problem, &why));
  EXPECT_EQ(why, "ring needs a commutative operator");
  EXPECT_THROW((void)make_plan(ring, kProblem, {{"segments", 2}}, {}), Error);
  EXPECT_THROW((void)make_plan(ring, kProblem, {}, {{0, 0, 0}, {}}), Error);
  const Seconds nan = std::numeric_limits<Seconds>::quiet_NaN();
  EXPECT_THROW((void)make_plan(ring, kProblem, {}, {{0, 0, 0, nan}, {}}), Error);
  Problem other = kProblem;
  other.collective = Collective::reduce;
  EXPECT_THROW((void)make_plan(ring, other, {}, {}), Error);
  const Algorithm& native = find_algorithm(Collective::allreduce, "native");
  EXPECT_THROW((void)make_plan(native, kProblem, {}, {}), Error);
  for (const Problem& wrong :
       {Problem{Collective::allreduce, 0, 1}, Problem{Collective::allreduce, 2, -1},
        Problem{Collective::allreduce, 2, 1, 0}, Problem{Collective::allreduce, 2, 1, 4, 2},
        Problem{Collective::allreduce, 2, std::numeric_limits<Count>::max(), 4}}) {
    EXPECT_THROW((void)make_plan(ring, wrong, {}, {}), Error);
  }
  EXPECT_THROW((void)build_program(make_plan(ring, kProblem, {}, {}), 4), Error);
}

/// The arithmetic of programs is 64 bits wide: a vector far beyond 2^31 elements.
TEST(MakePlan, SegmentsBeyondTheElementsAreNotUsed) {
  for (const Algorithm& row : registry()) {
    if (std::ranges::none_of(row.parameters,
                             [](const Parameter& each) { return each.name == "segments"; })) {
      continue;
    }
    for (const auto& [count, most] : {std::pair<Count, Count>{0, 1}, {10, 10}, {1 << 20, 65536}}) {
      const Problem problem{row.collective, 4, count};
      const Plan plan = make_plan(row, problem, {{"segments", 1000000000}}, {});
      EXPECT_LE(plan.parameters.at("segments"), most) << row.name << ", " << count << " elements";
      const Plan few = make_plan(row, problem, {{"segments", 1}}, {});
      EXPECT_EQ(few.parameters.at("segments"), 1) << row.name << ", " << count << " elements";
    }
  }
}

TEST(MakePlan, CountsBeyond32Bits) {
  for (const Algorithm& row : registry()) {
    if (row.kind != Kind::program) continue;
    const Count count = (Count{1} << 40) + 7;
    const Plan plan = make_plan(row, {row.collective, 3, count, 8}, {}, {});
    Count received = 0;
    for (const Operation& op : build_program(plan, 0).operations) {
      if (op.kind == OpKind::recv) received += op.target.count;
      EXPECT_GE(op.target.begin, 0);
      EXPECT_LE(op.target.end(), 2 * count + 3);
    }
    if (combines(row.collective)) {
      EXPECT_GE(received, count * 2 / 3) << row.name;
    }
  }
}

}  // namespace
}  // namespace latecomer
