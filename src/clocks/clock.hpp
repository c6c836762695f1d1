// A clock that ranks share, as one of them knows it: the offset of the common clock from its own,
// and the error of this offset. An offset or a drift is always known as a range that contains the
// truth; two such ranges are joined by intersecting them (Marzullo, Owicki: Maintaining the time in
// a distributed system, 1983).
#pragma once

#include <cmath>
#include <deque>
#include <optional>
#include <vector>

#include "base/types.hpp"

namespace latecomer {

/// The rate at which two clocks may drift apart, in seconds a second: each is within 100 ppm of the
/// right rate.
inline constexpr double kLargestDrift = 200e-6;

/// One question for the common time and its answer: asked and answered on the local clock.
struct ClockSample {
  Seconds asked;
  Seconds peer;  // the common time that the peer read in between
  Seconds answered;
};

/// From local to common time. Times are seconds, drifts seconds a second.
struct ClockModel {
  Seconds origin = 0;      // the local time at which offset and error hold
  Seconds offset = 0;      // common minus local time
  Seconds error = 0;       // the true offset differs by this at most
  double drift = 0;        // by which the offset grows
  double drift_error = 0;  // by which the error grows, before the origin and after

  [[nodiscard]] Seconds offset_at(Seconds local) const { return offset + drift * (local - origin); }
  [[nodiscard]] Seconds common(Seconds local) const { return local + offset_at(local); }
  [[nodiscard]] Seconds error_at(Seconds local) const {
    return error + drift_error * std::abs(local - origin);
  }
};

/// The model by samples that were taken one after the other, with its origin at the last answer.
/// Each sample puts the offset into a range as wide as its round trip (Cristian: Probabilistic
/// clock synchronization, 1989), so the error is at most half the shortest round trip, plus
/// `peer_error`, the error of the times that the peer read, plus the drift meanwhile. Throws Error
/// without samples.
[[nodiscard]] ClockModel fit(const std::vector<ClockSample>& samples, Seconds peer_error);

/// Joins fits made at different times: the offset that all of them allow, and a drift that is known
/// the better the further they are apart. A fit that contradicts the earlier ones shows that a
/// clock was set: then the earlier ones are forgotten.
class ClockHistory {
 public:
  /// `fit` is newer than all before.
  void add(const ClockModel& fit);
  /// Before the first fit: local time is common time.
  [[nodiscard]] const ClockModel& model() const { return model_; }

 private:
  void keep();

  ClockModel model_;
  bool empty_ = true;
  std::deque<ClockModel> past_;  // models apart in time, oldest first
};

/// The times at which ranks should ask for the time again: soon at first, to learn the drift, then
/// less and less often. They depend only on the instants that `due` is given, so ranks that give
/// the same ones decide the same.
class ClockRefresh {
 public:
  /// `instant`: the common time of something that all ranks know alike, such as the last call's
  /// last arrival.
  [[nodiscard]] bool due(Seconds instant);

 private:
  std::optional<Seconds> last_;
  Seconds interval_ = 0.5;
};

}  // namespace latecomer
