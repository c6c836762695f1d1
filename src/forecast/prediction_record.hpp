// A record of predictions: how much imbalance each one claimed, and how wrong it was.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/types.hpp"

namespace latecomer {

inline constexpr double kFit =
    0.5;  // of the predicted imbalance: a claim with less misplacement is right
inline constexpr double kWorst =
    2;  // of it: another rank was late instead; more misplacement is bad luck
inline constexpr double kWrong = 1.0 / 3;  // of all claims, by weight: this part may be wrong

/// Seconds to 8 significant bits: enough for how wrong a forecast was.
class RoughSeconds {
 public:
  RoughSeconds() = default;
  explicit RoughSeconds(Seconds value) {
    const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
    bits_ = static_cast<std::uint16_t>((bits + 0x8000U) >> 16U);
  }
  [[nodiscard]] float value() const {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits_) << 16U);
  }

 private:
  std::uint16_t bits_ = 0;  // the upper half of a float
};

/// The last `window` predictions. A claim has the weight of the imbalance that it predicted,
/// seconds.
template <std::size_t window>
class PredictionRecord {
 public:
  /// Adds a prediction that claimed the imbalance `predicted`, with its misplacement.
  void add(Seconds predicted, Seconds misplacement) {
    claimed_[count_ % window] = RoughSeconds(predicted);
    misplaced_[count_ % window] = RoughSeconds(misplacement);
    ++count_;
  }
  /// Adds a prediction that claimed nothing.
  void add_without_claim(Seconds misplacement) { add(0, misplacement); }

  /// The number of predictions ever added.
  [[nodiscard]] std::size_t count() const { return count_; }
  /// The misplacement of the prediction so many calls ago, 1 to `window`; 0 before the first.
  [[nodiscard]] float misplaced(std::size_t ago) const {
    return misplaced_[(count_ + window - ago) % window].value();
  }
  /// True if there is a claim of at least half the size. Smaller claims are no evidence for a large
  /// one.
  [[nodiscard]] bool any(Seconds predicted) const {
    for (const RoughSeconds claimed : claimed_) {
      if (claimed.value() >= predicted / 2) return true;
    }
    return false;
  }
  /// True if few of the claims of at least half the size were wrong; also if there are none.
  [[nodiscard]] bool few_wrong(Seconds predicted) const {
    Seconds all = 0;
    Seconds wrong = 0;
    for (std::size_t i = 0; i < window; ++i) {
      const Seconds claimed = claimed_[i].value();
      const Seconds misplaced = misplaced_[i].value();
      if (claimed < predicted / 2) continue;
      all += claimed;
      if (misplaced >= kFit * claimed) wrong += std::min(misplaced, kWorst * claimed);
    }
    return wrong <= kWrong * all;
  }

 private:
  std::array<RoughSeconds, window> claimed_{};  // 0: no claim
  std::array<RoughSeconds, window> misplaced_{};
  std::uint32_t count_ = 0;
};

}  // namespace latecomer
