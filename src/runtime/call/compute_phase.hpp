// What a program tells of its computation before a call, and when it will arrive, going by that.
#pragma once

#include "base/types.hpp"

namespace latecomer {

class ComputePhase {
 public:
  /// `now` on any clock, in seconds; the same one throughout.
  void begin(Seconds now);
  /// Throws Error for a fraction outside of 0 to 1, or not above the last one, or without a begin.
  void edge(Seconds now, double fraction);
  /// Throws Error without a begin.
  void end(Seconds now);

  /// The part of the computation that the expectation rests on; 0: there is none.
  [[nodiscard]] double fraction() const { return fraction_; }
  /// When the rank will arrive; of use where fraction() is above 0.
  [[nodiscard]] Seconds arrival() const { return arrival_; }

 private:
  void check_begun(const char* what) const;

  bool running_ = false;
  Seconds begun_ = 0;
  double fraction_ = 0;
  Seconds arrival_ = 0;
};

}  // namespace latecomer
