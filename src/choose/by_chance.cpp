// Decisions at random (`auto:random=SEED`), so that tests meet all that the library can do, and not
// only what prices prefer. A draw depends on the seed, the problem, and the number of such calls,
// which all ranks know alike. Rank 0 alone counts announced calls and draws for them.
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/reproducible.hpp"
#include "choose/chooser.hpp"
#include "forecast/call_sequence.hpp"

namespace latecomer {
namespace {

Random draws_for(Count seed, const Problem& problem) {
  return Random(Random(static_cast<std::uint64_t>(seed)).next() ^ call_key(problem));
}

/// Gives each of the row's parameters a small value, or leaves it at its default.
Parameters some_parameters(const Algorithm& row, Random& random) {
  constexpr std::uint64_t kNumbers = 9;
  Parameters values;
  for (const Parameter& each : row.parameters) {
    if (each.waives || random.below(2) == 0) continue;
    const std::uint64_t many = each.choices.empty() ? kNumbers : each.choices.size();
    values[std::string(each.name)] = each.minimum + static_cast<Count>(random.below(many));
  }
  return values;
}

}  // namespace

void check_reproducible(const Choice& choice) {
  if (seed_of(choice) == 0) return;
  throw Error("algorithm in reproducible mode", "auto:random=" + std::to_string(seed_of(choice)),
              "one that is the same in every call");
}

/// Half of the problems are never announced, so that these calls meet rows that wait.
bool Chooser::waits_at_random(Count seed, const Problem& problem) {
  return draws_for(seed, problem).below(2) == 0;
}

/// Rows that refuse the problem, or the values drawn for their parameters, are drawn again without.
Decision Chooser::decide_at_random(Count seed, const Problem& problem, bool announced) {
  const std::uint64_t call = announced ? announced_drawn_calls_++ : drawn_calls_++;
  Random random(draws_for(seed, problem).next() + call);
  std::vector<const Algorithm*> rows;
  for (const Algorithm& row : registry(problem.collective)) {
    if (!row.automatic() && !(announced && waits_for_arrival(row))) rows.push_back(&row);
  }
  ruled_ = &drawn_;
  while (true) {  // `native` takes every problem
    const auto at = rows.begin() + static_cast<std::ptrdiff_t>(random.below(rows.size()));
    drawn_ = {*at, some_parameters(**at, random)};
    Decision decision = decide_as(drawn_, problem, announced);
    if (decision.action != Decision::Action::refused) return decision;
    rows.erase(at);
  }
}

}  // namespace latecomer
