// A program's computing phase before a call, and the arrival that it implies.
#pragma once

#include <stdexcept>
#include <string>

#include "base/error.hpp"
#include "base/parse.hpp"
#include "base/types.hpp"

namespace latecomer {

class ComputePhase {
 public:
  /// Begins the phase. `now` on any clock, in seconds; the same one throughout.
  void begin(Seconds now) {
    *this = {};
    running_ = true;
    begun_ = now;
  }
  /// Notes that `fraction` of the computation is done, and extrapolates: the rest is taken to go on
  /// at the same speed. Throws Error for a fraction outside of 0 to 1, or not above the last one,
  /// or without a begin.
  void progress(Seconds now, double fraction) {
    check_begun("progress of computing");
    if (!(fraction >= 0 && fraction <= 1)) {
      throw Error("fraction", format_number(fraction), "a number from 0 to 1");
    }
    if (fraction > 0 ? fraction <= fraction_ : fraction_ > 0) {
      throw Error("fraction", format_number(fraction),
                  "one above " + format_number(fraction_) + ", the last one");
    }
    fraction_ = fraction;
    if (fraction > 0) arrival_ = begun_ + (now - begun_) / fraction;
  }
  /// Ends the phase. Throws Error without a begin.
  void end(Seconds now) {
    check_begun("end of computing");
    running_ = false;
    fraction_ = 1;
    arrival_ = now;
  }

  /// The part of the computation that the expected arrival rests on; 0: none is expected.
  [[nodiscard]] double fraction() const { return fraction_; }
  /// The expected arrival; valid if fraction() is above 0.
  [[nodiscard]] Seconds arrival() const { return arrival_; }

 private:
  void check_begun(const char* what) const {
    if (running_) return;
    throw std::runtime_error(std::string(what) + ": call latecomer_compute_begin first");
  }

  bool running_ = false;
  Seconds begun_ = 0;
  double fraction_ = 0;
  Seconds arrival_ = 0;
};

}  // namespace latecomer
