// Calls of one kind that followed each other, as all ranks know them afterwards, and what they
// cost. Where ranks may leave a call before others enter it, they run ahead of each other, and a
// single call shows little.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <type_traits>
#include <vector>

#include "base/types.hpp"

namespace latecomer {

/// When a rank was in a call.
struct TimeInside {
  Seconds arrival = 0;
  Seconds exit = 0;
};

/// The last calls of one kind on a rank, as it tells them to the others. Rounded once, so that all
/// ranks know the same bits.
class LastCalls {
 public:
  static constexpr std::size_t kMost = 8;

  void note(const TimeInside& call) {
    std::shift_right(times_.begin(), times_.end(), 1);
    times_.front() = {static_cast<float>(call.arrival - exit_),
                      static_cast<float>(std::max(0.0, call.exit - call.arrival))};
    exit_ = call.exit;
    count_ = std::min<std::uint64_t>(count_ + 1, kMost);
  }
  void clear() { *this = {}; }
  /// Changes the clock that times are on: ranks tell them on one that they share.
  void shift(Seconds by) { exit_ += by; }
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(count_); }
  /// A call, 0 the last one. `ago` < size().
  [[nodiscard]] TimeInside ago(std::size_t ago) const {
    Seconds exit = exit_;
    for (std::size_t i = 0; i < ago; ++i) exit -= times_[i].inside + times_[i].since;
    return {exit - times_[ago].inside, exit};
  }

 private:
  /// How long the call before was over when this one began, and how long the rank was in it.
  struct Times {
    float since = 0;
    float inside = 0;
  };

  Seconds exit_ = 0;  // of the last call
  std::uint64_t count_ = 0;
  std::array<Times, kMost> times_{};  // the last call first
};
static_assert(std::is_trivially_copyable_v<LastCalls>);

/// In seconds on one clock, by call and by rank.
struct CallSeries {
  std::vector<std::vector<Seconds>> arrivals;
  std::vector<std::vector<Seconds>> exits;
  [[nodiscard]] std::size_t calls() const { return arrivals.size(); }
  /// From the last arrival in the first call to the last exit from the last one.
  [[nodiscard]] Seconds length() const {
    return std::ranges::max(exits.back()) - std::ranges::max(arrivals.front());
  }
};

/// The calls that all ranks noted. `ranks`: one entry for each.
[[nodiscard]] inline CallSeries series_of(std::span<const LastCalls> ranks) {
  std::size_t calls = LastCalls::kMost;
  for (const LastCalls& each : ranks) calls = std::min(calls, each.size());
  CallSeries series;
  series.arrivals.assign(calls, std::vector<Seconds>(ranks.size()));
  series.exits = series.arrivals;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    for (std::size_t ago = 0; ago < calls; ++ago) {
      const TimeInside call = ranks[rank].ago(ago);
      series.arrivals[calls - 1 - ago][rank] = call.arrival;
      series.exits[calls - 1 - ago][rank] = call.exit;
    }
  }
  return series;
}

/// Returns the seconds by which a call delayed the program, the mean over the calls, of which there
/// is one at least. If ranks wait for each other after each (`synchrony` 1), that is the time from
/// its last arrival to its last exit. If each goes on by itself (0), it is the time to the end of
/// the series from when the ranks would have been there if calls took none.
[[nodiscard]] inline Seconds mean_cost(const CallSeries& series, double synchrony) {
  Seconds together = 0;
  std::vector<Seconds> free = series.arrivals.front();  // when each would come if no call took time
  for (std::size_t call = 0; call < series.calls(); ++call) {
    together += std::ranges::max(series.exits[call]) - std::ranges::max(series.arrivals[call]);
    if (call == 0) continue;
    for (std::size_t rank = 0; rank < free.size(); ++rank)
      free[rank] += series.arrivals[call][rank] - series.exits[call - 1][rank];
  }
  const Seconds alone = std::ranges::max(series.exits.back()) - std::ranges::max(free);
  return (synchrony * together + (1 - synchrony) * alone) / static_cast<double>(series.calls());
}

/// Costs that differ by less are as good as equal: a hundredth of the time from call to call.
[[nodiscard]] inline Seconds negligible_cost(const CallSeries& series) {
  constexpr double kPart = 0.01;
  return kPart * std::max(0.0, series.length()) / static_cast<double>(series.calls());
}

/// The exits from a call for these arrivals.
using ExitsOf = std::function<std::vector<Seconds>(const std::vector<Seconds>& arrivals)>;

/// Returns the last `most` of these calls, one series after the other, as if they had been executed
/// in another way: what the ranks did between them takes as long, and they wait for each other as
/// far as `synchrony` says.
[[nodiscard]] inline CallSeries replayed(std::span<const CallSeries> seen, std::size_t most,
                                         double synchrony, const ExitsOf& exits_of) {
  std::size_t left_out = 0;  // calls, but for the first one, which nothing leads to
  for (const CallSeries& each : seen) left_out += each.calls() - 1;
  left_out -= std::min(left_out, most - 1);
  CallSeries other;
  std::vector<Seconds> arrivals;
  for (const CallSeries& each : seen) {
    for (std::size_t call = 1; call < each.calls(); ++call) {
      if (left_out > 0) {
        --left_out;
        continue;
      }
      if (other.calls() == 0) {
        arrivals = each.arrivals[call - 1];
        other.arrivals.push_back(arrivals);
        other.exits.push_back(exits_of(arrivals));
      }
      const std::vector<Seconds>& before = other.exits.back();
      const Seconds last_then = std::ranges::max(each.exits[call - 1]);
      const Seconds last_now = std::ranges::max(before);
      for (std::size_t rank = 0; rank < arrivals.size(); ++rank) {
        const Seconds next = each.arrivals[call][rank];
        const Seconds together = last_now + (next - last_then);
        const Seconds alone = before[rank] + (next - each.exits[call - 1][rank]);
        arrivals[rank] = synchrony * together + (1 - synchrony) * alone;
      }
      other.arrivals.push_back(arrivals);
      other.exits.push_back(exits_of(arrivals));
    }
  }
  return other;
}

}  // namespace latecomer
