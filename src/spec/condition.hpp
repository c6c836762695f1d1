// The task of each collective: the elements that each rank holds before and after it.
#pragma once

#include <optional>
#include <vector>

#include "schedule/program.hpp"

namespace latecomer {

/// A slice that holds the elements from `first_element` on: those of one rank, or (no
/// contributor) those of all ranks combined.
struct Holding {
  Slice slice;
  Count first_element = 0;
  std::optional<Rank> contributor;
};

namespace detail {

/// The slice that holds a range of the vector in a buffer that begins with that of `all`.
inline Holding held(Buffer buffer, Range all, Range range, std::optional<Rank> contributor) {
  return {{buffer, range.begin - all.begin, range.count}, range.begin, contributor};
}

}  // namespace detail

[[nodiscard]] inline std::vector<Holding> precondition(const Problem& problem, Rank rank) {
  const Range before = problem.before(rank);
  const Range input = problem.input(rank);
  if (before.empty()) return {};
  if (input.empty()) return {detail::held(Buffer::output, problem.output(rank), before, rank)};
  return {detail::held(Buffer::input, input, before, rank)};
}

[[nodiscard]] inline std::vector<Holding> postcondition(const Problem& problem, Rank rank) {
  const Range after = problem.after(rank);
  if (after.empty()) return {};
  if (combines(problem.collective))
    return {detail::held(Buffer::output, after, after, std::nullopt)};
  const bool aliased = problem.output(rank).empty();
  const Buffer buffer = aliased ? Buffer::input : Buffer::output;
  const Range all = aliased ? problem.input(rank) : problem.output(rank);
  const bool scatters =
      problem.collective == Collective::scatter || problem.collective == Collective::bcast;
  if (scatters) return {detail::held(buffer, all, after, problem.root)};
  std::vector<Holding> holdings;
  for (Rank other = 0; other < problem.ranks; ++other) {
    const Range part = problem.part(other);
    if (!part.empty()) holdings.push_back(detail::held(buffer, all, part, other));
  }
  return holdings;
}

}  // namespace latecomer
