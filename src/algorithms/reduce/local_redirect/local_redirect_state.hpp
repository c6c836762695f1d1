// The decisions of one rank of a line that merges its partial result with its neighbours': the
// words it sends when it hears a word. No data, no transport, no clock: tests explore it in all
// orders of events.
//
// Each rank that has arrived has a partial result of a run of the line that ends with itself. It
// offers this to the next rank to its right that still has one. That rank asks for it when it can
// receive it; then the giver sends it, tells its own left neighbour which rank is next now, and is
// done. The last rank of the line ends up with the result.
//
// Source: Marendic 2012, algorithm 2, with two changes.
// 1. Different ranks redirect one rank, in any order: it heeds only redirections that lead farther
//    along the line. If it heeded all, it might end up offering, for ever, to a rank that is done.
// 2. Where all are there at once, all ask to their left at once, and each would wait for all before
//    it. So a rank that has asked may put off the one that asks it, which then can be asked from
//    its other side. The ranks that put off and those that wait alternate along the line, as in a
//    binomial tree.
#pragma once

#include <algorithm>
#include <vector>

#include "base/types.hpp"

namespace latecomer::reduce {

enum class Said : std::uint8_t {
  offer,     // "completion" in the paper
  ask,       // "handshake"
  put_off,   // not now: an offer follows
  give,      // the partial result follows; `position` is left of it now
  redirect,  // `position` is next now
};

struct Word {
  Said said = Said::offer;
  Rank position = -1;

  bool operator==(const Word&) const = default;
};

/// Ranks are named by their positions on the line; -1 is no rank.
class LocalRedirectState {
 public:
  LocalRedirectState(Rank position, Rank ranks)
      : me_(position), left_(position - 1), right_(position + 1 < ranks ? position + 1 : -1) {}
  virtual ~LocalRedirectState() = default;
  LocalRedirectState(const LocalRedirectState&) = default;
  LocalRedirectState& operator=(const LocalRedirectState&) = default;

  struct Telling {
    Rank to = -1;
    Word word;
  };
  /// The actions that follow an event.
  struct Step {
    std::vector<Telling> tell;  // first, in this order
    Rank receive_from = -1;     // a partial result, to be merged on the left of this one's
    Rank give_to = -1;          // the partial result
  };
  Step arrive() {
    Step step;
    arrived_ = true;
    offer(step);
    go_on(step);
    return step;
  }
  Step hear(Rank from, Word word) {
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
  /// The partial result is received and merged.
  Step merged() {
    Step step;
    waiting_ = Waiting::no;
    left_ = left_of_given_;
    ++merges_;
    go_on(step);
    return step;
  }

  /// True once it has given its partial result away.
  [[nodiscard]] bool gone() const { return gone_; }
  /// True once it has the result.
  [[nodiscard]] bool complete() const {
    return arrived_ && left_ < 0 && right_ < 0 && waiting_ == Waiting::no;
  }
  [[nodiscard]] Rank left() const { return left_; }
  [[nodiscard]] Rank right() const { return right_; }

 protected:
  /// True if a redirection is still up to date.
  [[nodiscard]] virtual bool heeds(Rank redirected) const { return redirected > right_; }

 private:
  friend std::vector<Count> future_of(const LocalRedirectState& rank);  // for tests

  enum class Waiting : std::uint8_t { no, for_answer, for_data };

  /// In a binomial tree the rank whose n-th bit is set receives in round n; the others give.
  [[nodiscard]] bool puts_off() const { return ((me_ >> std::min(merges_, Rank{30})) & 1) != 0; }

  void offer(Step& step) {
    owes_ = false;
    if (right_ >= 0) step.tell.push_back({right_, {Said::offer, -1}});
  }

  void give(Step& step) {
    step.tell.push_back({right_, {Said::give, left_}});
    if (left_ >= 0) step.tell.push_back({left_, {Said::redirect, right_}});
    step.give_to = right_;
    gone_ = true;
  }

  void go_on(Step& step) {
    if (waiting_ != Waiting::no) return;
    if (asked_) return give(step);
    if (owes_) offer(step);
    if (!arrived_ || left_ < 0 || offered_ != left_) return;
    offered_ = -1;
    waiting_ = Waiting::for_answer;
    step.tell.push_back({left_, {Said::ask, -1}});
  }

  Rank me_;
  Rank left_;   // the next one that still has a partial result, as far as this one knows
  Rank right_;  // likewise
  bool arrived_ = false;
  bool gone_ = false;
  Waiting waiting_ = Waiting::no;
  Rank offered_ = -1;        // the rank that has offered, and was not asked yet
  bool asked_ = false;       // by the right one, which waits
  bool owes_ = false;        // an offer, to the right one that was put off
  Rank left_of_given_ = -1;  // its left neighbour after the merge that has begun
  Rank merges_ = 0;
};

}  // namespace latecomer::reduce
