#include "algorithms/reduce/local_redirect/local_redirect_state.hpp"

#include <algorithm>

namespace latecomer::reduce {

LocalRedirectState::Step LocalRedirectState::arrive() {
  Step step;
  arrived_ = true;
  offer(step);
  go_on(step);
  return step;
}

LocalRedirectState::Step LocalRedirectState::hear(Rank from, Word word) {
  Step step;
  if (gone_) return step;  // the sender is told which rank is next, if not already
  switch (word.said) {
    case Said::offer:
      offered_ = from;
      break;
    case Said::ask:
      if (waiting_ != Waiting::no && puts_off()) {
        step.tell.push_back({from, {Said::put_off, -1}});
        owes_ = true;
        return step;
      }
      asked_ = true;
      break;
    case Said::put_off:
      waiting_ = Waiting::no;
      break;
    case Said::give:
      waiting_ = Waiting::for_data;
      left_of_given_ = word.position;
      step.receive_from = from;
      return step;
    case Said::redirect:
      if (!heeds(word.position)) return step;
      right_ = word.position;
      if (arrived_) offer(step);
      break;
  }
  go_on(step);
  return step;
}

LocalRedirectState::Step LocalRedirectState::merged() {
  Step step;
  waiting_ = Waiting::no;
  left_ = left_of_given_;
  ++merges_;
  go_on(step);
  return step;
}

/// In a binomial tree the rank whose n-th bit is set receives in round n; the others give.
bool LocalRedirectState::puts_off() const {
  return ((me_ >> std::min(merges_, Rank{30})) & 1) != 0;
}

void LocalRedirectState::offer(Step& step) {
  owes_ = false;
  if (right_ >= 0) step.tell.push_back({right_, {Said::offer, -1}});
}

void LocalRedirectState::give(Step& step) {
  step.tell.push_back({right_, {Said::give, left_}});
  if (left_ >= 0) step.tell.push_back({left_, {Said::redirect, right_}});
  step.give_to = right_;
  gone_ = true;
}

void LocalRedirectState::go_on(Step& step) {
  if (waiting_ != Waiting::no) return;
  if (asked_) return give(step);
  if (owes_) offer(step);
  if (!arrived_ || left_ < 0 || offered_ != left_) return;
  offered_ = -1;
  waiting_ = Waiting::for_answer;
  step.tell.push_back({left_, {Said::ask, -1}});
}

std::vector<Rank> LocalRedirectState::state() const {
  return {left_,
          right_,
          static_cast<Rank>(arrived_),
          static_cast<Rank>(gone_),
          static_cast<Rank>(waiting_),
          offered_,
          static_cast<Rank>(asked_),
          static_cast<Rank>(owes_),
          left_of_given_,
          merges_};
}

}  // namespace latecomer::reduce
