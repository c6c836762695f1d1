// How a candidate did for one class of calls: what its calls took, against what was predicted.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace latecomer {

/// Nobody is judged on fewer than kSamples calls, and by the median of the last few: one slow call,
/// as the first one often is, says nothing.
class Feedback {
 public:
  static constexpr std::size_t kSamples = 3;
  static constexpr std::uint64_t kFirstPause = 50;  // calls
  static constexpr std::uint64_t kMaxDoublings = 8;

  /// It carries out call number `call` of its class.
  void use(std::uint64_t call);
  /// A call of it took `ratio` times what was predicted.
  void learn(double ratio);

  /// Calls since it was last judged anew.
  [[nodiscard]] std::uint64_t uses() const { return uses_; }
  [[nodiscard]] bool judged() const { return seen_ >= kSamples; }
  [[nodiscard]] bool known() const { return seen_ > 0; }
  /// The lower median of the last few ratios; of `prior_weight` ratios as prior before the first of
  /// its own. `prior` where nothing is known.
  [[nodiscard]] double factor(double prior, std::size_t prior_weight = 0) const;

  /// Whether it was not used for so long that things may have changed, at call number `call`.
  /// `worse`: how many times the price of the best its own is. The pause is such that three calls
  /// of it cost at most 1 %, and twice as long each time that it was tried again in vain.
  [[nodiscard]] bool due(std::uint64_t call, double worse) const { return call >= next(worse); }
  /// The call from which on it is due.
  [[nodiscard]] std::uint64_t next(double worse) const;
  /// It is to be judged by new calls alone.
  void renew();
  /// It was taken for what it is: the next pause is a short one again.
  void confirm() { doublings_ = 0; }

 private:
  static constexpr std::size_t kWindow = 7;

  std::array<float, kWindow> ratios_{};
  std::size_t seen_ = 0;  // ratios since it was last judged anew
  std::uint64_t uses_ = 0;
  std::uint64_t last_use_ = 0;
  std::uint64_t doublings_ = 0;
};

}  // namespace latecomer
