// All estimators: each predicts the next pattern of arrivals from the observations before.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "forecast/pattern.hpp"

namespace latecomer {

inline constexpr int kMemory = 32;                    // calls remembered, and the longest period
inline constexpr float kFading = 1 - 1.0F / kMemory;  // weight of a call against the next one
inline constexpr float kFit = 0.5F;                   // of an imbalance: less misplacement is right
inline constexpr float kWrong = 1.0F / 3;  // of what was predicted: this part may be wrong

/// `periodic`: ranks are late in every k-th call. `trend`: a straight line a rank. `shift`: the
/// last pattern, moved on by as many ranks as the last rank had moved. Those of computing times,
/// which are arrivals minus exits from the call before, add the last known exits: when a plan lets
/// some ranks leave earlier than others, their next arrivals show it, though they compute as ever.
enum class Estimator { last_value, periodic, computing_periodic, computing_average, trend, shift };
inline constexpr std::array<std::string_view, 6> kEstimators = {
    "lateness_last_value", "lateness_periodic", "computing_periodic",
    "computing_average",   "computing_trend",   "lateness_shift"};

/// The rank that came last in a call, and the one that came first.
struct Ends {
  std::uint32_t latest = 0;
  std::uint32_t earliest = 0;
  float imbalance = 0;
};

class Estimators {
 public:
  explicit Estimators(Rank ranks, int depth = kMemory);
  /// Looks for the period, before the call is judged and added.
  void look_for_period(PatternView computing);
  /// Adds a call: what ranks computed before it, and when they had left the one before.
  void add(PatternView computing, PatternView exits);
  /// The next arrivals, in `room` or elsewhere; empty: there are too few calls for this estimator.
  [[nodiscard]] PatternView predict(Estimator estimator, std::span<float> room) const;

 private:
  /// The row of so many calls ago: 1 is the last call, size_ the oldest that is kept.
  [[nodiscard]] std::size_t row(int calls) const;
  [[nodiscard]] PatternView at(const std::vector<float>& rows, int calls) const;
  [[nodiscard]] PatternView trend(std::span<float> next) const;
  void look_at_imbalance(float imbalance);

  std::vector<float> computing_;  // rows in a ring
  std::vector<float> exits_;      // the same
  std::vector<Ends> ends_;
  Ends now_;              // of the next call
  std::size_t next_ = 0;  // the row that the next call goes to
  int size_ = 0;
  int period_ = 0;  // 2 or more calls; 0: none
  int next_period_ = 0;
  // By number of calls: those unlike the one so many calls before, since one was alike.
  std::array<float, kMemory + 1> missed_{};
  float usual_ = 0;             // imbalance of calls with a late rank
  std::vector<float> average_;  // of computing times
};

}  // namespace latecomer
