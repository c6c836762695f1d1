#include "spec/condition.hpp"

namespace latecomer {
namespace {

/// The slice that holds a range of the vector in a buffer that begins with that of `all`.
Holding held(Buffer buffer, Range all, Range range, std::optional<Rank> contributor) {
  return {{buffer, range.begin - all.begin, range.count}, range.begin, contributor};
}

bool scatters(const Problem& problem) {
  return problem.collective == Collective::scatter || problem.collective == Collective::bcast;
}

}  // namespace

std::vector<Holding> precondition(const Problem& problem, Rank rank) {
  const Range before = problem.before(rank);
  const Range input = problem.input(rank);
  if (before.empty()) return {};
  if (input.empty()) return {held(Buffer::output, problem.output(rank), before, rank)};
  return {held(Buffer::input, input, before, rank)};
}

std::vector<Holding> postcondition(const Problem& problem, Rank rank) {
  const Range after = problem.after(rank);
  if (after.empty()) return {};
  if (combines(problem.collective)) return {held(Buffer::output, after, after, std::nullopt)};
  const bool aliased = problem.output(rank).empty();
  const Buffer buffer = aliased ? Buffer::input : Buffer::output;
  const Range all = aliased ? problem.input(rank) : problem.output(rank);
  if (scatters(problem)) return {held(buffer, all, after, problem.root)};
  std::vector<Holding> holdings;
  for (Rank other = 0; other < problem.ranks; ++other) {
    const Range part = problem.part(other);
    if (!part.empty()) holdings.push_back(held(buffer, all, part, other));
  }
  return holdings;
}

}  // namespace latecomer
