#include "algorithms/bcast/arrival/forwarder.hpp"

namespace latecomer::bcast {

/// A rank needs nothing more from the root if the root sent all segments ahead of its arrival.
Step Forwarder::arrive() {
  Step step;
  arrived_ = true;
  if (segments_ > 0 && !last_) step.tell.push_back({root_, {Said::here, -1, 0}});
  go_on(step);
  return step;
}

Step Forwarder::hear(Rank from, Word word) {
  Step step;
  switch (word.said) {
    case Said::here:
      break;
    case Said::next:
      next_.emplace(word.rank, word.segment, segments_);
      step.tell.push_back({word.rank, {Said::feed, -1, word.segment}});
      break;
    case Said::feed:
      feeder_ = from;
      rest_ = word.segment;
      break;
    case Said::last:
      last_ = true;
      break;
    case Said::soon:
      soon_ = word.segment;
      break;
  }
  go_on(step);
  return step;
}

Step Forwarder::sent(Rank /*to*/) {
  Step step;
  if (next_) ++next_->sent;
  go_on(step);
  return step;
}

Step Forwarder::received(Count segment) {
  Step step;
  here_[static_cast<std::size_t>(segment)] = true;
  while (have_ < segments_ && here_[static_cast<std::size_t>(have_)]) ++have_;
  go_on(step);
  return step;
}

bool Forwarder::done() const {
  return arrived_ && have_ == segments_ && (segments_ == 0 || last_ || (next_ && next_->over()));
}

void Forwarder::go_on(Step& step) {
  if (!arrived_) return;
  const Count known = feeder_ < 0 ? soon_ : segments_;
  for (; posted_ < known && posted_ - have_ < kInFlight; ++posted_) {
    step.receive.push_back({source(posted_), posted_, is_first(posted_)});
  }
  if (next_) next_->post(have_, step);
}

std::vector<Count> Forwarder::state() const {
  std::vector<Count> all = {arrived_, last_, feeder_, rest_, soon_, posted_, have_};
  for (const bool here : here_) all.push_back(here);
  if (next_) all.insert(all.end(), {next_->to, next_->posted, next_->sent});
  return all;
}

}  // namespace latecomer::bcast
