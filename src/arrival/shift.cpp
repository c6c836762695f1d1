#include "arrival/shift.hpp"

#include <numeric>

#include "arrival/pattern.hpp"

namespace latecomer {
namespace {

// More than one, because several ranks may be late together and noise changes their order.
constexpr std::size_t kCandidates = 4;

using Pattern = std::span<const Seconds>;

/// The ranks that come last, the latest first.
std::vector<std::size_t> latest_ranks(Pattern pattern) {
  std::vector<std::size_t> ranks(pattern.size());
  std::iota(ranks.begin(), ranks.end(), std::size_t{0});
  const std::size_t count = std::min(kCandidates, ranks.size());
  std::partial_sort(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(count), ranks.end(),
                    [&](std::size_t one, std::size_t other) {
                      if (pattern[one] != pattern[other]) return pattern[one] > pattern[other];
                      return one < other;
                    });
  ranks.resize(count);
  return ranks;
}

void move_on(Pattern pattern, std::size_t ranks, std::span<Seconds> moved) {
  const auto cut = pattern.end() - static_cast<std::ptrdiff_t>(ranks);
  std::copy(pattern.begin(), cut, std::copy(cut, pattern.end(), moved.begin()));
}

/// How many ranks further on the pattern is than the one before.
std::size_t best_move(Pattern before, Pattern last, std::span<Seconds> scratch) {
  const auto latest = std::max_element(before.begin(), before.end()) - before.begin();
  std::size_t best = 0;
  Seconds least = misplacement(before, last);
  for (const std::size_t rank : latest_ranks(last)) {
    const std::size_t move = (rank + last.size() - static_cast<std::size_t>(latest)) % last.size();
    move_on(before, move, scratch);
    const Seconds error = misplacement(scratch, last);
    if (error < least) {
      least = error;
      best = move;
    }
  }
  return best;
}

}  // namespace

void shift(const PatternHistory& history, std::span<Seconds> next) {
  const Pattern last = history.ago(1);
  move_on(last, best_move(history.ago(2), last, next), next);
}

}  // namespace latecomer
