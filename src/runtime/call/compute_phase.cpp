#include "runtime/call/compute_phase.hpp"

#include "base/error.hpp"
#include "base/parse.hpp"

namespace latecomer {

void ComputePhase::begin(Seconds now) {
  *this = {};
  running_ = true;
  begun_ = now;
}

void ComputePhase::check_begun(const char* what) const {
  if (running_) return;
  throw std::runtime_error(std::string(what) + ": call latecomer_compute_begin first");
}

/// Extrapolates: the rest of the computation is taken to go on at the same speed.
void ComputePhase::progress(Seconds now, double fraction) {
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

void ComputePhase::end(Seconds now) {
  check_begun("end of computing");
  running_ = false;
  fraction_ = 1;
  arrival_ = now;
}

}  // namespace latecomer
