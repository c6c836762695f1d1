// Whether forecasts came true, of which somebody said that they would.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/types.hpp"

namespace latecomer {

inline constexpr double kFit = 0.5;        // of the imbalance predicted: less misplacement is right
inline constexpr double kWorst = 2;        // of it: another rank was late instead; more is bad luck
inline constexpr double kWrong = 1.0 / 3;  // of all that was claimed: what may have been wrong

/// Of the last `window` entries. Claims weigh by the imbalance they predicted, seconds.
template <std::size_t window>
class ClaimRecord {
 public:
  void add(Seconds predicted, Seconds misplacement) {
    const bool wrong = misplacement >= kFit * predicted;
    claimed_[next_] = predicted;
    wrong_[next_] = wrong ? std::min(misplacement, kWorst * predicted) : 0;
    next_ = (next_ + 1) % window;
  }
  /// An entry for a time in which nothing was claimed.
  void add_none() { add(0, 0); }

  /// Whether anything of at least half the size was claimed. Less says nothing about so much.
  [[nodiscard]] bool any(Seconds predicted) const {
    return *std::max_element(claimed_.begin(), claimed_.end()) >= predicted / 2;
  }
  /// Whether few of the claims of at least half the size were wrong; also true if there was none.
  [[nodiscard]] bool few_wrong(Seconds predicted) const {
    Seconds claimed = 0;
    Seconds wrong = 0;
    for (std::size_t i = 0; i < window; ++i) {
      if (claimed_[i] < predicted / 2) continue;
      claimed += claimed_[i];
      wrong += wrong_[i];
    }
    return wrong <= kWrong * claimed;
  }

 private:
  std::array<Seconds, window> claimed_{};
  std::array<Seconds, window> wrong_{};
  std::size_t next_ = 0;
};

}  // namespace latecomer
