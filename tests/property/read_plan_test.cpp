// Plans are read from texts, in files and in messages: whatever is in them, they are refused or can
// be carried out without touching memory that is not there.
#include <gtest/gtest.h>

#include "algorithms/plans.hpp"
#include "algorithms/registry.hpp"
#include "base/error.hpp"
#include "base/parse.hpp"
#include "base/reproducible.hpp"
#include "reference/sweeps.hpp"
#include "verify/verify.hpp"

namespace latecomer {
namespace {

constexpr int kMutants = 100;                           // of a row
constexpr int kLeast = testing::kSanitized ? 30 : 100;  // and until one is taken
constexpr Rank kMaxBuilt = 64;                          // whose programs are built
constexpr Count kMaxElements = 4096;

Plan random_plan(const Algorithm& row, Random& random) {
  Problem problem;
  problem.collective = row.collective;
  problem.ranks = static_cast<Rank>(1 + random.below(17));
  problem.count = static_cast<Count>(random.below(100));
  if (rooted(row.collective)) problem.root = static_cast<Rank>(random.below(problem.ranks));
  Knowledge knowledge;
  for (Rank rank = 0; rank < problem.ranks; ++rank) {
    knowledge.arrivals.push_back(1e-3 * random.uniform());
  }
  knowledge.telemetry = random.below(2) == 0;
  return make_plan(row, problem, {}, knowledge);
}

std::string any_number(Random& random) {
  static const std::vector<std::string> odd = {
      "-1", "0", "1", "2", "65537", "2147483647", "2147483648", "9223372036854775807", "-9", "x"};
  if (random.below(2) == 0) return odd[random.below(odd.size())];
  return std::to_string(random.below(20));
}

std::string joined(const std::vector<std::string>& parts, char separator) {
  std::string text;
  for (const std::string& part : parts)
    text += (text.empty() ? "" : std::string(1, separator)) + part;
  return text;
}

std::vector<std::string> parts_of(std::string_view text, char separator) {
  const auto parts = split(text, separator);
  return {parts.begin(), parts.end()};
}

/// One word becomes another one, is left out or comes twice; or two change places.
void change_word(std::vector<std::string>& words, Random& random) {
  const std::size_t at = random.below(words.size());
  switch (random.below(4)) {
    case 0:
      words[at] = any_number(random);
      return;
    case 1:
      words.erase(words.begin() + static_cast<std::ptrdiff_t>(at));
      return;
    case 2:
      words.push_back(words[at]);
      return;
    default:
      std::swap(words[at], words[random.below(words.size())]);
  }
}

std::string mutant(const std::string& text, const std::vector<std::string>& names, Random& random) {
  std::vector<std::string> lines = parts_of(text, '\n');
  for (std::uint64_t changes = 1 + random.below(3); changes > 0; --changes) {
    const std::size_t at = random.below(lines.size());
    std::vector<std::string> words = parts_of(lines[at], ' ');
    if (words.front() == "algorithm" && random.below(2) == 0) {
      words = {"algorithm", names[random.below(names.size())]};
    } else if (random.below(8) == 0) {
      words.clear();
    } else {
      change_word(words, random);
    }
    lines[at] = joined(words, ' ');
  }
  return joined(lines, '\n');
}

/// True for the rules of memory; others, such as the order of combining, are up to the plan's
/// maker.
bool about_memory(const Counterexample& found) {
  return found.rule == "plan" || found.rule == "bounds" || found.rule == "dependencies";
}

/// True if the plan was accepted.
bool execute(const std::string& text) try {
  Plan plan = parse_plan(text);
  if (plan.problem.ranks > kMaxBuilt || plan.problem.count > kMaxElements) return false;
  check_plan(plan);
  const Network network;
  const Executors executors = make_executors(plan, network);
  if (find_algorithm(plan.problem.collective, plan.algorithm).kind != Kind::program) return true;
  const auto found = verify(plan.problem, build_programs(plan));
  EXPECT_FALSE(found && about_memory(*found)) << found->text << '\n' << text;
  return true;
} catch (const Error&) {
  return false;
}

TEST(ReadPlan, WhatIsReadIsRefusedOrCanBeCarriedOut) {
  Random seeds(6);
  for (const Algorithm& row : registry()) {
    if (row.kind == Kind::native) continue;
    std::vector<std::string> names;
    for (const Algorithm& other : registry(row.collective)) names.emplace_back(other.name);
    int taken = 0;
    for (int i = 0; i < kLeast || (taken == 0 && i < kMutants); ++i) {
      const std::uint64_t seed = seeds.next();
      Random random(seed);
      const std::string text = to_text(random_plan(row, random));
      EXPECT_TRUE(execute(text)) << text;
      if (i % 4 == 0) continue;
      const std::string changed = mutant(text, names, random);
      SCOPED_TRACE("seed " + std::to_string(seed) + ", plan\n" + changed);
      taken += execute(changed) ? 1 : 0;
    }
    EXPECT_GT(taken, 0) << row.name;
  }
}

/// Plans that only some rows can have made.
TEST(ReadPlan, NamesWhatDoesNotFit) {
  const auto refused = [](Collective collective, Rank ranks, std::string_view name, auto change) {
    Problem problem;
    problem.collective = collective;
    problem.ranks = ranks;
    problem.count = 64;
    Plan plan = make_plan(find_algorithm(collective, name), problem, {}, {});
    change(plan);
    try {
      check_plan(parse_plan(to_text(plan)));
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("taken");
  };
  const auto says = [](const std::string& said, std::string_view part) {
    EXPECT_NE(said.find(part), std::string::npos) << said;
  };
  const Collective all = Collective::allreduce;
  says(refused(all, 4, "early_owners", [](Plan& plan) { plan.table.back() = -1; }),
       "table of early_owners");
  says(refused(all, 4, "early_owners", [](Plan& plan) { plan.table.pop_back(); }),
       "table of early_owners");
  says(refused(all, 4, "early_owners", [](Plan& plan) { plan.parameters["blocks"] = 65; }),
       "blocks: '65' is not usable; right would be at most 64");
  const auto no_late_rank =
      "table of prereduced_circulant: '1 numbers' is not usable; right would "
      "be one rank, and no order";
  says(refused(all, 4, "prereduced_circulant", [](Plan& plan) { plan.table = {4}; }), no_late_rank);
  says(refused(all, 4, "prereduced_circulant", [](Plan& plan) { plan.table = {-1}; }),
       no_late_rank);
  says(refused(all, 4, "prereduced_circulant", [](Plan& plan) { plan.order = {0, 1, 2, 3}; }),
       no_late_rank);
  says(refused(all, 4, "prereduced_circulant", [](Plan& plan) { plan.table = {1, 2}; }),
       "table of prereduced_circulant: '2 numbers'");
  says(refused(all, 4, "prereduced_circulant", [](Plan& plan) { plan.parameters["blocks"] = 65; }),
       "blocks: '65'");
  says(refused(all, 4, "ring", [](Plan& plan) { ++plan.table.front(); }), "the 4 segments");
  says(refused(all, 4, "ring", [](Plan& plan) { plan.table.front() = -1; }), "from 0 to 4");
  says(refused(all, 4, "ring", [](Plan& plan) { plan.order.clear(); }), "order: 'none'");
  says(refused(all, 4, "rabenseifner", [](Plan& plan) { plan.table = {1}; }),
       "right would be none");
  says(refused(all, 4, "rabenseifner", [](Plan& plan) { plan.order = {0, 1, 2, 3}; }),
       "none, for rabenseifner");
  says(refused(all, 4, "two_tree", [](Plan& plan) { plan.parameters.clear(); }),
       "one more: segments");
  says(refused(all, 4, "two_tree", [](Plan& plan) { plan.parameters["segments"] = 1 << 20; }),
       "segments: '1048576'");
  says(refused(all, 4, "straggler_exchange",
               [](Plan& plan) {
                 plan.problem.ranks = 3;
                 plan.order = {0, 1, 2};
               }),
       "a power of two");
  says(refused(all, 4, "ring", [](Plan& plan) { plan.algorithm = "fastest"; }),
       "the one that it has chosen");
  says(refused(all, 4, "ring", [](Plan& plan) { plan.algorithm = "native"; }),
       "one that has plans");
  says(refused(all, 4, "ring", [](Plan& plan) { plan.problem.commutative = false; }),
       "needs a commutative operator");
  says(refused(Collective::allgather, 4, "neighbor_exchange",
               [](Plan& plan) { plan.problem.ranks = 3; }),
       "an even number");
  says(refused(Collective::allgather, 4, "late_doubling",
               [](Plan& plan) { plan.parameters["late"] = 4; }),
       "less than all ranks");
  const auto timetable = [&](auto change) {
    return refused(Collective::reduce, 4, "clairvoyant", change);
  };
  says(timetable([](Plan& plan) { plan.table.back() = -1; }), "table of clairvoyant");
  says(timetable([](Plan& plan) { plan.table.back() = 1 << 20; }), "table of clairvoyant");
  says(timetable([](Plan& plan) { plan.table.assign(4, 1); }), "the first one 0");
  says(timetable([](Plan& plan) { plan.table.pop_back(); }), "a round for each rank");
  says(timetable([](Plan& plan) { plan.order = {0, 1, 2, 3}; }), "no order");
  says(timetable([](Plan& plan) { plan.parameters["segments"] = 65; }), "at most 64");
  says(refused(Collective::reduce, 4, "static_tree", [](Plan& plan) { plan.table.back() = 9; }),
       "who is left");
  says(refused(Collective::reduce, 4, "sorted_linear_tree",
               [](Plan& plan) { std::swap(plan.order.front(), plan.order.back()); }),
       "root's place");
  says(refused(Collective::bcast, 4, "linear",
               [](Plan& plan) { std::swap(plan.order.front(), plan.order.back()); }),
       "root's place");
}

}  // namespace
}  // namespace latecomer
