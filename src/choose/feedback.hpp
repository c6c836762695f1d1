// Feedback on a candidate in one call class: the durations of its calls, relative to
// predictions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace latecomer {

/// The last few ratios of durations to predictions.
class Ratios {
 public:
  void add(double ratio) { ratios_[seen_++ % kWindow] = static_cast<float>(ratio); }
  /// Drops the ratios. Their median stays until there are kEnough new ones.
  void renew();
  /// The number of ratios since the last renew().
  [[nodiscard]] std::size_t seen() const { return seen_; }
  [[nodiscard]] bool renewed() const { return before_.has_value(); }
  [[nodiscard]] bool renewing() const { return before_ && seen_ < kEnough; }
  [[nodiscard]] bool full() const { return seen_ >= kWindow; }
  /// The least of the last few since the last renew(); 0 if there are none.
  [[nodiscard]] double least() const;
  /// The lower median, together with `prior_weight` ratios of `prior` while there are few; `prior`
  /// if there are none.
  [[nodiscard]] double median(double prior, std::size_t prior_weight = 0) const;

 private:
  static constexpr std::size_t kWindow = 7;
  static constexpr std::size_t kEnough = 2;  // the lower median is the better one

  std::array<float, kWindow> ratios_{};
  std::size_t seen_ = 0;
  std::optional<double> before_;  // the median before the last renew()
};

/// A candidate is judged on at least kSamples calls, and by the median of the last few: a single
/// slow call, as the first often is, has no weight.
class Feedback {
 public:
  static constexpr std::size_t kSamples = 3;
  static constexpr std::uint64_t kFirstPause = 50;  // calls
  static constexpr std::uint64_t kMaxDoublings = 8;

  /// Notes that the candidate executes call number `call` of the class.
  void use(std::uint64_t call);
  /// Notes that a call took `ratio` times its prediction, and until its last exit `until_last_exit`
  /// times.
  void learn(double ratio, double until_last_exit);

  /// The number of calls since the last renew().
  [[nodiscard]] std::uint64_t uses() const { return uses_; }
  [[nodiscard]] bool judged() const { return ratios_.seen() >= kSamples || ratios_.renewed(); }
  /// Returns true after two calls, of which factor() is the better one: a slow call may be chance.
  [[nodiscard]] bool tried() const { return ratios_.seen() > 1 || ratios_.renewed(); }
  /// Returns true while a new trial goes on: factor() is still that before it.
  [[nodiscard]] bool renewing() const { return ratios_.renewing(); }
  /// The factors that correct predictions, as Ratios::median(): of the duration, and of the time
  /// until the last exit.
  [[nodiscard]] double factor(double prior, std::size_t prior_weight = 0) const {
    return ratios_.median(prior, prior_weight);
  }
  [[nodiscard]] double last_exit_factor() const { return last_exits_.median(0); }
  /// Returns true after so many calls that chance hardly moves the medians.
  [[nodiscard]] bool settled() const { return ratios_.full(); }
  /// The factors of the quickest of the last few calls; 0 if there are none.
  [[nodiscard]] double least_factor() const { return ratios_.least(); }
  [[nodiscard]] double least_last_exit_factor() const { return last_exits_.least(); }

  /// Returns true if the candidate should be tried again at call number `call`, since it was not
  /// used for long. `worse`: its price over the best one's. The pause is such that three calls cost
  /// at most 1 %, and doubles with each trial in vain.
  [[nodiscard]] bool due(std::uint64_t call, double worse) const { return call >= next(worse); }
  /// The number of the first call at which it is due.
  [[nodiscard]] std::uint64_t next(double worse) const;
  /// Begins a new trial: the ratios are replaced.
  void renew();
  /// Notes that the candidate was chosen: the next pause is short again.
  void confirm() { doublings_ = 0; }

 private:
  Ratios ratios_;
  Ratios last_exits_;
  std::uint64_t uses_ = 0;
  std::uint64_t last_use_ = 0;
  std::uint64_t doublings_ = 0;
};

}  // namespace latecomer
