#include "algorithms/bcast/arrival/feeding_root.hpp"

namespace latecomer::bcast {

FeedingRoot::FeedingRoot(Rank me, Rank ranks, Count segments, bool ahead)
    : segments_(segments),
      sends_ahead_(ahead),
      provided_(static_cast<std::size_t>(ranks)),
      unprovided_(ranks - 1) {
  provided_[static_cast<std::size_t>(me)] = true;
}

Step FeedingRoot::arrive() {
  Step step;
  arrived_ = true;
  if (segments_ > 0) serve(step);
  return step;
}

/// Others only say that they are there.
Step FeedingRoot::hear(Rank from, Word /*word*/) {
  Step step;
  if (ahead_ && ahead_->to == from) {
    meet(step);
  } else if (!provided_[static_cast<std::size_t>(from)]) {
    waiting_.push_back(from);
  }
  if (arrived_) serve(step);
  return step;
}

Step FeedingRoot::sent(Rank to) {
  Step step;
  if (live_ && live_->to == to) {
    ++live_->sent;
    if (live_->over()) end_chain(step);
  } else if (ahead_ && ahead_->to == to) {
    ++ahead_->sent;
    if (ahead_->over()) {
      step.tell.push_back({to, {Said::feed, -1, 0}});
      step.tell.push_back({to, {Said::last, -1, 0}});
      ahead_.reset();
    }
  } else {
    --leaving_;
  }
  serve(step);
  return step;
}

bool FeedingRoot::done() const {
  if (segments_ == 0) return arrived_;
  return arrived_ && unprovided_ == 0 && !live_ && !ahead_ && leaving_ == 0;
}

Rank FeedingRoot::absent() const {
  Rank rank = 0;
  while (provided_[static_cast<std::size_t>(rank)]) ++rank;
  return rank;
}

void FeedingRoot::begin_chain(Rank head, Step& step) {
  step.tell.push_back({head, {Said::feed, -1, 0}});
  tail_ = head;
  ended_ = false;
}

void FeedingRoot::append(Rank rank, Count segment, Step& step) {
  step.tell.push_back({tail_, {Said::next, rank, segment}});
  tail_ = rank;
}

/// The one that it sends ahead to has come.
void FeedingRoot::meet(Step& step) {
  if (!live_) {
    begin_chain(ahead_->to, step);
    live_ = ahead_;
  } else {
    // Nothing is left for others to send where all is on its way.
    if (ahead_->posted < segments_) {
      append(ahead_->to, ahead_->posted, step);
    } else {
      step.tell.push_back({ahead_->to, {Said::feed, -1, 0}});
      step.tell.push_back({ahead_->to, {Said::last, -1, 0}});
    }
    leaving_ += ahead_->leaving();
  }
  ahead_.reset();
}

void FeedingRoot::end_chain(Step& step) {
  if (!ended_) step.tell.push_back({tail_, {Said::last, -1, 0}});
  live_.reset();
}

void FeedingRoot::serve(Step& step) {
  const auto provide = [this](Rank rank) {
    provided_[static_cast<std::size_t>(rank)] = true;
    --unprovided_;
  };
  for (const Rank rank : waiting_) {
    provide(rank);
    if (live_) {
      append(rank, 0, step);
      continue;
    }
    begin_chain(rank, step);
    live_.emplace(rank, 0, segments_);
  }
  waiting_.clear();
  if (sends_ahead_ && !live_ && !ahead_ && unprovided_ > 0) {
    ahead_.emplace(absent(), 0, segments_);
    provide(ahead_->to);
  }
  if (live_ && !ended_ && unprovided_ == 0 && !ahead_) {
    step.tell.push_back({tail_, {Said::last, -1, 0}});
    ended_ = true;
  }
  if (live_) return live_->post(segments_, step);
  if (ahead_) ahead_->post(segments_, step);
}

std::vector<Count> FeedingRoot::state() const {
  std::vector<Count> all = {arrived_, tail_, ended_, leaving_};
  for (const bool provided : provided_) all.push_back(provided);
  for (const Rank rank : waiting_) all.push_back(rank);
  for (const auto& feed : {live_, ahead_}) {
    all.push_back(-1);
    if (feed) all.insert(all.end(), {feed->to, feed->posted, feed->sent});
  }
  return all;
}

}  // namespace latecomer::bcast
