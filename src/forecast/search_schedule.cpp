#include "forecast/search_schedule.hpp"

namespace latecomer {

Evaluation SearchSchedule::next(Surprise surprise, bool dispensable, bool may_search) {
  wanted_ = wanted_ || surprise == Surprise::large;
  if (left_ > 0) {
    --left_;
    wanted_ = wanted_ && left_ < length_ / 2;  // it has seen enough of the calls before
    return Evaluation::all;
  }
  ++rested_;
  if (may_search && rested_ > (wanted_ ? pause_ / kEarly : pause_)) {
    left_ = length_ - 1;
    return Evaluation::all;
  }
  if (surprise != Surprise::none) alert_ = kAlert;
  if (alert_ > 0) {
    --alert_;
    return Evaluation::few;
  }
  const int every = rested_ < 2 * length_ ? kEvery : kSeldom;
  return dispensable && rested_ % every != 0 ? Evaluation::forecast_only : Evaluation::few;
}

void SearchSchedule::finish_search(bool found) {
  const bool first = found || pause_ == 0;
  pause_ = first ? length_ : std::min(2 * pause_, kLongestPause * length_);
  rested_ = 0;
  alert_ = 0;
}

}  // namespace latecomer
