#include "agreement/meeting_rank.hpp"

#include <algorithm>
#include <bit>

namespace latecomer {

MeetingRank::MeetingRank(Rank ranks, Rank me, std::uint64_t about, Seconds patience, Told told,
                         Merge merge, Late late)
    : ranks_(ranks),
      me_(me),
      about_(about),
      patience_(patience),
      told_(std::move(told)),
      merge_(merge),
      late_(late),
      node_(binomial_node(ranks, me)) {}

MeetingRank::Actions MeetingRank::come() {
  Actions next;
  await_child(next);
  return next;
}

MeetingRank::Awaited MeetingRank::awaited() const {
  switch (part_) {
    case Part::coming:
      return {child(), Step::here, until_};
    case Part::accepts:
      return {child(), Step::accepts, until_};
    case Part::result:
      return {node_.parent, Step::result, until_};
    default:
      return {node_.parent, Step::verdict, until_};
  }
}

MeetingRank::Actions MeetingRank::answer(bool accepts, Seconds now) {
  Actions next;
  if (!accepts) met_ = Met::declined;
  child_ = 0;
  await_acceptance(now, next);
  return next;
}

MeetingRank::Actions MeetingRank::hear(const Message& message, Seconds now) {
  Actions next;
  const bool missed = message.met == Met::missed;
  if (!missing_) missing_ = message.missing;
  switch (part_) {
    case Part::coming:
      if (missed || message.about != about_) {
        met_ = Met::missed;
      } else {
        merge_(told_, message.told);
      }
      ++child_;
      await_child(next);
      break;
    case Part::result:
      if (missed) {
        fail(next);
        break;
      }
      told_ = message.told;
      ask(next);
      break;
    case Part::accepts:
      met_ = std::min(met_, message.met);
      ++child_;
      await_acceptance(now, next);
      break;
    default:
      met_ = message.met;
      end(Step::verdict, next);
  }
  return next;
}

MeetingRank::Actions MeetingRank::miss(Seconds now) {
  Actions next;
  switch (part_) {
    case Part::coming:
      next.missed = child();
      if (!missing_) missing_ = child();
      met_ = Met::missed;
      if (late_ == Late::hears) {
        ++child_;
      } else {
        node_.children.erase(node_.children.begin() + static_cast<std::ptrdiff_t>(child_));
      }
      await_child(next);
      break;
    case Part::result:
      missing_ = node_.parent;
      if (me_ == node_.parent + 1) next.missed = missing_;  // one of those that wait for it
      tell_parent(Step::accepts, Met::missed, next);        // so that it does not wait if it comes
      fail(next);
      break;
    case Part::accepts:
      met_ = Met::missed;
      ++child_;
      await_acceptance(now, next);
      break;
    default:
      if (until_ < kNever) {
        next.awaited = node_.parent;
        until_ = kNever;
        break;
      }
      met_ = Met::missed;
      end(Step::verdict, next);
  }
  return next;
}

int MeetingRank::height(Rank rank) const {
  const Rank step = rank == 0 ? ranks_ : std::min(rank & -rank, ranks_ - rank);
  return static_cast<int>(std::bit_width(static_cast<unsigned>(step - 1)));
}

Seconds MeetingRank::patience_above() const {
  const int above = std::popcount(static_cast<unsigned>(me_));
  return patience_ * (height(0) + 1 + above);
}

/// All those below come first, so that each that comes hears whether one does not.
void MeetingRank::await_child(Actions& next) {
  if (child_ < node_.children.size()) {
    until_ = patience_ * (height(child()) + 1);
    return;
  }
  const bool all = met_ != Met::missed;
  if (all && node_.root()) return ask(next);
  tell_parent(Step::here, met_, next);
  if (!all) return end(Step::result, next);
  part_ = Part::result;
  until_ = patience_above();
}

void MeetingRank::ask(Actions& next) {
  tell_children(Step::result, Met::agreed, next);
  part_ = Part::asked;
}

void MeetingRank::await_acceptance(Seconds now, Actions& next) {
  if (child_ < node_.children.size()) {
    part_ = Part::accepts;
    until_ = now + patience_ * (height(child()) + 1);
    return;
  }
  tell_parent(Step::accepts, met_, next);
  if (node_.root() || met_ == Met::missed) return end(Step::verdict, next);
  part_ = Part::verdict;
  until_ = now + patience_above();
}

/// There is no result: those below leave, too.
void MeetingRank::fail(Actions& next) {
  met_ = Met::missed;
  end(Step::result, next);
}

void MeetingRank::end(Step step, Actions& next) {
  tell_children(step, met_, next);
  part_ = Part::over;
}

void MeetingRank::tell_parent(Step step, Met met, Actions& next) const {
  if (!node_.root()) next.tell.emplace_back(node_.parent, message(step, met));
}

void MeetingRank::tell_children(Step step, Met met, Actions& next) const {
  for (auto each = node_.children.rbegin(); each != node_.children.rend(); ++each) {
    next.tell.emplace_back(each->rank, message(step, met));
  }
}

/// The parts of the ranks go up once, and the result goes down once.
MeetingRank::Message MeetingRank::message(Step step, Met met) const {
  const bool tells = met == Met::agreed && (step == Step::here || step == Step::result);
  return {step, met, about_, tells ? told_ : Told(), missing_};
}

}  // namespace latecomer
