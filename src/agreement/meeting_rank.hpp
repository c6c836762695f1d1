// One rank's part of a meeting, in which the ranks of a communicator tell each other something, all
// of them or none.
//
// Up a binomial tree each rank tells what it and those below it have, down again the result goes;
// up again goes whether each accepts it, and down the verdict. A rank that has accepted waits for
// the verdict however long that takes: those above it have been there. Any other one leaves after
// its patience, and by that the verdict is that the meeting failed.
//
// No messages and no clock are here: a test goes through all orders of events.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "patterns/trees.hpp"

namespace latecomer {

enum class Met : std::uint8_t {
  missed,    // some ranks did not come; those that waited meet nobody any more
  declined,  // a rank did not accept the result
  agreed,
};

/// Bytes whose meaning the ranks know.
using Told = std::vector<char>;

class MeetingRank {
 public:
  static constexpr Seconds kNever = std::numeric_limits<Seconds>::infinity();

  /// The steps of a meeting, in their order.
  enum class Step : std::uint64_t { here, result, accepts, verdict };
  struct Message {
    Step step;
    Met met;              // of a verdict, or so far
    std::uint64_t about;  // a hash of what the sender's meeting is about
    Told told;
    std::optional<Rank> missing = std::nullopt;  // did not come
  };
  /// The next actions of the rank.
  struct Actions {
    std::vector<std::pair<Rank, Message>> tell;
    std::optional<Rank> missed;   // did not come: to be reported
    std::optional<Rank> awaited;  // has not told the verdict yet: to be reported
  };
  /// The message that it waits for.
  struct Awaited {
    Rank from;
    Step step;
    Seconds until;  // since the rank came
  };
  /// Adds other ranks' part to `all`.
  using Merge = void (*)(Told& all, const Told& theirs);

  /// For ranks below that do not come in time: they hear so, should they come later, or are
  /// sent nothing, where they may never receive it and the MPI library would not end with that.
  enum class Late : std::uint8_t { hears, is_left };

  /// `told`: this rank's part; `about`: a hash, alike on all ranks; `patience`: by how much ranks
  /// may come at other times.
  MeetingRank(Rank ranks, Rank me, std::uint64_t about, Seconds patience, Told told, Merge merge,
              Late late = Late::hears);

  [[nodiscard]] Actions come();
  // The rank has met, or it is asked, or it waits. `now`: since it came.
  [[nodiscard]] bool over() const { return part_ == Part::over; }
  /// True if it must say whether it accepts told(), the result.
  [[nodiscard]] bool asked() const { return part_ == Part::asked; }
  [[nodiscard]] Awaited awaited() const;
  [[nodiscard]] Actions answer(bool accepts, Seconds now);
  /// The awaited message came.
  [[nodiscard]] Actions hear(const Message& message, Seconds now);
  /// It did not come in time. Where the time has no end: none can come any more.
  [[nodiscard]] Actions miss(Seconds now);

  [[nodiscard]] Met met() const { return met_; }
  /// A rank that did not come to a meeting that was missed, as far as this rank has heard.
  [[nodiscard]] std::optional<Rank> missing() const { return missing_; }
  [[nodiscard]] const Told& told() const { return told_; }

 private:
  friend std::vector<Count> future_of(const MeetingRank& rank);  // for tests

  enum class Part : std::uint8_t { coming, result, asked, accepts, verdict, over };

  /// Ranks between the given one and the leaf that is farthest from it.
  [[nodiscard]] int height(Rank rank) const;
  [[nodiscard]] Rank child() const { return node_.children[child_].rank; }
  /// The ranks above may each wait for one below them that does not come. They leave before this
  /// one, so that it does not take them for missing.
  [[nodiscard]] Seconds patience_above() const;

  void await_child(Actions& next);
  void ask(Actions& next);
  void await_acceptance(Seconds now, Actions& next);
  void fail(Actions& next);
  void end(Step step, Actions& next);
  void tell_parent(Step step, Met met, Actions& next) const;
  void tell_children(Step step, Met met, Actions& next) const;
  [[nodiscard]] Message message(Step step, Met met) const;

  Rank ranks_;
  Rank me_;
  std::uint64_t about_;
  Seconds patience_;
  Told told_;
  Merge merge_;
  Late late_;
  TreeNode node_;  // without children that came late and are left
  Part part_ = Part::coming;
  std::size_t child_ = 0;  // that it waits for
  Met met_ = Met::agreed;  // so far
  std::optional<Rank> missing_;
  Seconds until_ = 0;
};

}  // namespace latecomer
