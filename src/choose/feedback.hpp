// Feedback on a candidate in one call class: the durations of its calls, relative to
// predictions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace latecomer {

/// A candidate is judged on at least kSamples calls, and by the median of the last few: a single
/// slow call, as the first often is, has no weight.
class Feedback {
 public:
  static constexpr std::size_t kSamples = 3;
  static constexpr std::uint64_t kFirstPause = 50;  // calls
  static constexpr std::uint64_t kMaxDoublings = 8;

  /// Notes that the candidate executes call number `call` of the class.
  void use(std::uint64_t call);
  /// Notes that a call took `ratio` times its prediction.
  void learn(double ratio);

  /// The number of calls since the last renew().
  [[nodiscard]] std::uint64_t uses() const { return uses_; }
  [[nodiscard]] bool judged() const { return seen_ >= kSamples; }
  /// Returns true after two calls, of which factor() is the better one: a slow call may be chance.
  [[nodiscard]] bool tried() const { return seen_ > 1; }
  /// The factor that corrects predictions: the lower median of the last few ratios, together with
  /// `prior_weight` ratios of `prior` while there are few; `prior` if there are none.
  [[nodiscard]] double factor(double prior, std::size_t prior_weight = 0) const;

  /// Returns true if the candidate should be tried again at call number `call`, since it was not
  /// used for long. `worse`: its price over the best one's. The pause is such that three calls cost
  /// at most 1 %, and doubles with each trial in vain.
  [[nodiscard]] bool due(std::uint64_t call, double worse) const { return call >= next(worse); }
  /// The number of the first call at which it is due.
  [[nodiscard]] std::uint64_t next(double worse) const;
  /// Forgets the ratios, for a new trial.
  void renew();
  /// Notes that the candidate was chosen: the next pause is short again.
  void confirm() { doublings_ = 0; }

 private:
  static constexpr std::size_t kWindow = 7;

  std::array<float, kWindow> ratios_{};
  std::size_t seen_ = 0;  // ratios since the last renew()
  std::uint64_t uses_ = 0;
  std::uint64_t last_use_ = 0;
  std::uint64_t doublings_ = 0;
};

}  // namespace latecomer
