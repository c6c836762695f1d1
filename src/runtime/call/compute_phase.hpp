// A program's computing phase before a call, and the arrival that it implies.
#pragma once

#include "base/types.hpp"

namespace latecomer {

class ComputePhase {
 public:
  /// Begins the phase. `now` on any clock, in seconds; the same one throughout.
  void begin(Seconds now);
  /// Notes that `fraction` of the computation is done. Throws Error for a fraction outside of 0 to
  /// 1, or not above the last one, or without a begin.
  void progress(Seconds now, double fraction);
  /// Ends the phase. Throws Error without a begin.
  void end(Seconds now);

  /// The part of the computation that the expected arrival rests on; 0: none is expected.
  [[nodiscard]] double fraction() const { return fraction_; }
  /// The expected arrival; valid if fraction() is above 0.
  [[nodiscard]] Seconds arrival() const { return arrival_; }

 private:
  void check_begun(const char* what) const;

  bool running_ = false;
  Seconds begun_ = 0;
  double fraction_ = 0;
  Seconds arrival_ = 0;
};

}  // namespace latecomer
