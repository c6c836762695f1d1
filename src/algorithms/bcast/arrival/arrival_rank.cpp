#include "algorithms/bcast/arrival/arrival_rank.hpp"

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

RootScheduler::RootScheduler(Rank me, Rank ranks, Count segments, Count ahead)
    : segments_(segments),
      at_a_time_(ahead),
      provided_(static_cast<std::size_t>(ranks)),
      unprovided_(ranks - 1) {
  provided_[static_cast<std::size_t>(me)] = true;
}

Step RootScheduler::arrive() {
  Step step;
  arrived_ = true;
  if (segments_ > 0) serve(step);
  return step;
}

/// Other ranks only say that they have arrived.
Step RootScheduler::hear(Rank from, Word /*word*/) {
  Step step;
  if (ahead_ && ahead_->to == from) {
    const Feed begun = *ahead_;
    ahead_.reset();
    meet(begun, step);
  } else if (!provided_[static_cast<std::size_t>(from)]) {
    waiting_.push_back(from);
  }
  if (arrived_) serve(step);
  return step;
}

Step RootScheduler::sent(Rank to) {
  Step step;
  if (live_ && live_->to == to) {
    ++live_->sent;
    if (live_->over()) end_chain(step);
  } else if (ahead_ && ahead_->to == to) {
    ++ahead_->sent;
    if (ahead_->over()) {
      let_go(to, step);
      ahead_.reset();
    }
  } else {
    --leaving_;
  }
  serve(step);
  return step;
}

bool RootScheduler::done() const {
  if (segments_ == 0) return arrived_;
  return arrived_ && unprovided_ == 0 && !live_ && !ahead_ && leaving_ == 0;
}

Rank RootScheduler::absent() const {
  const auto found = std::find(provided_.begin(), provided_.end(), false);
  return found == provided_.end() ? -1 : static_cast<Rank>(found - provided_.begin());
}

void RootScheduler::begin_chain(const Feed& feed, Step& step) {
  step.tell.push_back({feed.to, {Said::feed, -1, 0}});
  live_ = feed;
  tail_ = feed.to;
  ended_ = false;
}

void RootScheduler::append(Rank rank, Count segment, Step& step) {
  step.tell.push_back({tail_, {Said::next, rank, segment}});
  tail_ = rank;
}

/// Lets a rank leave to which all segments have been announced.
void RootScheduler::let_go(Rank rank, Step& step) {
  step.tell.push_back({rank, {Said::last, -1, 0}});
}

void RootScheduler::send_ahead(Feed& ahead, Step& step) {
  if (ahead.posted == announced_ && announced_ < segments_) {
    announced_ = std::min(announced_ + at_a_time_, segments_);
    step.tell.push_back({ahead.to, {Said::soon, -1, announced_}});
  }
  ahead.post(announced_, step);
}

/// The rank to which the root sends ahead has arrived. The announced segments leave in any case.
void RootScheduler::meet(Feed begun, Step& step) {
  if (!live_) {
    begin_chain(begun, step);
    return;
  }
  begun.post_all(announced_, step);
  if (announced_ < segments_) {
    append(begun.to, announced_, step);
  } else {
    let_go(begun.to, step);
  }
  leaving_ += begun.leaving();
}

void RootScheduler::end_chain(Step& step) {
  if (!ended_) step.tell.push_back({tail_, {Said::last, -1, 0}});
  live_.reset();
}

void RootScheduler::provide(Rank rank) {
  provided_[static_cast<std::size_t>(rank)] = true;
  --unprovided_;
}

void RootScheduler::serve(Step& step) {
  for (const Rank rank : waiting_) {
    provide(rank);
    if (live_) {
      append(rank, 0, step);
    } else {
      begin_chain({rank, 0, segments_}, step);
    }
  }
  waiting_.clear();
  if (at_a_time_ > 0 && !live_ && !ahead_ && unprovided_ > 0) {
    ahead_.emplace(absent(), 0, segments_);
    announced_ = 0;
    provide(ahead_->to);
  }
  tell_if_all_have_come(step);
  if (live_) return live_->post(segments_, step);
  if (ahead_) send_ahead(*ahead_, step);
}

/// Tells the end of the chain that no rank follows, so that it need not wait for the root's own
/// end.
void RootScheduler::tell_if_all_have_come(Step& step) {
  if (!live_ || ended_ || unprovided_ > 0 || ahead_) return;
  step.tell.push_back({tail_, {Said::last, -1, 0}});
  ended_ = true;
}

}  // namespace latecomer::bcast
