#include "forecast/shift.hpp"

#include <array>

#include "forecast/pattern.hpp"

namespace latecomer {
namespace {

// More than one, because several ranks may be late together and noise changes their order.
constexpr std::size_t kCandidates = 4;

using Pattern = std::span<const float>;

/// The ranks that arrive last, the latest first; as many as there are candidates, or ranks.
struct Latest {
  std::array<std::size_t, kCandidates> ranks{};
  std::size_t count = 0;
};

Latest latest_ranks(Pattern pattern) {
  Latest latest;
  for (std::size_t rank = 0; rank < pattern.size(); ++rank) {
    std::size_t at = latest.count;
    while (at > 0 && pattern[latest.ranks[at - 1]] < pattern[rank]) --at;
    if (at == kCandidates) continue;
    latest.count = std::min(latest.count + 1, kCandidates);
    for (std::size_t i = latest.count - 1; i > at; --i) latest.ranks[i] = latest.ranks[i - 1];
    latest.ranks[at] = rank;
  }
  return latest;
}

void move_on(Pattern pattern, std::size_t ranks, std::span<float> moved) {
  const auto cut = pattern.end() - static_cast<std::ptrdiff_t>(ranks);
  std::copy(pattern.begin(), cut, std::copy(cut, pattern.end(), moved.begin()));
}

/// The number of ranks by which the pattern has moved on from the one before.
std::size_t best_move(Pattern before, Pattern last, std::span<float> scratch) {
  const auto latest = std::max_element(before.begin(), before.end()) - before.begin();
  std::size_t best = 0;
  float min = misplacement(before, last);
  const Latest now = latest_ranks(last);
  for (std::size_t i = 0; i < now.count; ++i) {
    const std::size_t move =
        (now.ranks[i] + last.size() - static_cast<std::size_t>(latest)) % last.size();
    move_on(before, move, scratch);
    const float error = misplacement(Pattern(scratch), last);
    if (error < min) {
      min = error;
      best = move;
    }
  }
  return best;
}

}  // namespace

void shift(const PatternHistory& history, std::span<float> next) {
  const std::span<float> last = scratch_row(ScratchRow::moved, next.size());
  const std::span<float> before = scratch_row(ScratchRow::before, next.size());
  history.read(1, last);
  history.read(2, before);
  move_on(last, best_move(before, last, next), next);
}

}  // namespace latecomer
