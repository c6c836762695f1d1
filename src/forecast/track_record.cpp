#include "forecast/track_record.hpp"

namespace latecomer {
namespace {

constexpr Seconds kRounding = 1e-9;  // less is rounding: it is no lateness that can be claimed

}  // namespace

void TrackRecord::add(Seconds misplacement, Seconds predicted) {
  if (claims(predicted)) {
    record_.add(predicted, misplacement);
  } else {
    record_.add_without_claim(misplacement);
  }
}

Seconds TrackRecord::mean(std::size_t predictions) const {
  Seconds sum = 0;
  for (std::size_t ago = 1; ago <= predictions; ++ago) sum += record_.misplaced(ago);
  return sum / static_cast<Seconds>(predictions);
}

bool TrackRecord::claims(Seconds predicted) const {
  return count() >= 2 && recent() + kRounding < kFit * predicted;
}

}  // namespace latecomer
