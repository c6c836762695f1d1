// How one rank of a line merges its partial result with its neighbours': what it tells whom when it
// hears something. No data, no transport, no clock: tests explore it in all orders of events.
//
// Each rank that is there has a partial result of a run of the line that ends with itself. It
// offers it to the next one to its right that still has one. That one asks for it when it can take
// it; then the rank gives it away, tells its own left neighbour who is next now, and is done. The
// last of the line ends up with the result.
//
// Source: Marendic 2012, algorithm 2, with two changes.
// 1. Redirections to one rank come from different ranks, in any order: only those that lead farther
//    along the line are heeded. Heeding all, a rank may end up offering to one that is done, for
//    ever.
// 2. Where all are there at once, all ask to their left at once, and each would wait for all before
//    it. So a rank that has asked may put off the one that asks it, which then can be asked from
//    its other side. Who puts off and who waits alternates along the line, as in a binomial tree.
#pragma once

#include <vector>

#include "base/types.hpp"

namespace latecomer::reduce {

enum class Said : std::uint8_t {
  offer,     // "completion" in the paper
  ask,       // "handshake"
  put_off,   // not now: offers follow
  give,      // what was asked for comes; `position` is left of it now
  redirect,  // `position` is next now
};

struct Word {
  Said said = Said::offer;
  Rank position = -1;

  bool operator==(const Word&) const = default;
};

/// Ranks are named by their positions on the line; -1 is nobody.
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
  /// What is to be done now.
  struct Step {
    std::vector<Telling> tell;  // first, in this order
    Rank receive_from = -1;     // a partial result, to be merged on the left of this one's
    Rank give_to = -1;          // the partial result
  };
  Step arrive();
  Step hear(Rank from, Word word);
  /// The partial result is received and merged.
  Step merged();

  /// It has given its partial result away.
  [[nodiscard]] bool gone() const { return gone_; }
  /// It has the result.
  [[nodiscard]] bool complete() const {
    return arrived_ && left_ < 0 && right_ < 0 && waiting_ == Waiting::no;
  }
  [[nodiscard]] Rank left() const { return left_; }
  [[nodiscard]] Rank right() const { return right_; }
  /// All that its future depends on.
  [[nodiscard]] std::vector<Rank> state() const;

 protected:
  /// Whether a redirection is not out of date.
  [[nodiscard]] virtual bool heeds(Rank redirected) const { return redirected > right_; }

 private:
  enum class Waiting : std::uint8_t { no, for_answer, for_data };

  [[nodiscard]] bool puts_off() const;
  void offer(Step& step);
  void give(Step& step);
  void go_on(Step& step);

  Rank me_;
  Rank left_;   // the next one that still has a partial result, as far as this one knows
  Rank right_;  // likewise
  bool arrived_ = false;
  bool gone_ = false;
  Waiting waiting_ = Waiting::no;
  Rank offered_ = -1;        // who has offered, and was not asked yet
  bool asked_ = false;       // by the right one, which waits
  bool owes_ = false;        // an offer, to the right one that was put off
  Rank left_of_given_ = -1;  // who is left when what is being given is merged
  Rank merges_ = 0;
};

}  // namespace latecomer::reduce
