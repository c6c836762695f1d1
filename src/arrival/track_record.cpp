#include "arrival/track_record.hpp"

namespace latecomer {
namespace {

constexpr Seconds kResolution = 1e-9;  // less is rounding: it is no lateness that can be claimed

}  // namespace

void TrackRecord::add(Seconds misplacement, Seconds predicted) {
  if (claims(predicted)) {
    record_.add(predicted, misplacement);
  } else {
    record_.add_none();
  }
  misplaced_[count_++ % kWindow] = misplacement;
}

Seconds TrackRecord::mean(std::size_t predictions) const {
  Seconds sum = 0;
  for (std::size_t ago = 1; ago <= predictions; ++ago) sum += misplaced_[(count_ - ago) % kWindow];
  return sum / static_cast<Seconds>(predictions);
}

Seconds TrackRecord::recent() const {
  return std::max(misplaced_[(count_ + kWindow - 1) % kWindow],
                  misplaced_[(count_ + kWindow - 2) % kWindow]);
}

bool TrackRecord::claims(Seconds predicted) const {
  return count_ >= 2 && recent() + kResolution < kFit * predicted;
}

}  // namespace latecomer
