#include <algorithm>

#include "algorithms/allreduce/generalized/blocks.hpp"
#include "algorithms/allreduce/generalized/designs.hpp"
#include "algorithms/allreduce/generalized/levels.hpp"

namespace latecomer::allreduce {
namespace {

/// A rank's digit in one factor of the group, and its peers in this factor.
struct Digit {
  Rank me;
  Count stride;  // between ranks whose digits differ by 1
  Count order;

  [[nodiscard]] Count value() const { return me / stride % order; }
  [[nodiscard]] Rank peer(Count shift) const {
    const Count other = ((value() + shift) % order + order) % order;
    return static_cast<Rank>(me + (other - value()) * stride);
  }
};

/// The parts of a level's vector, numbered relative to a rank's digit.
struct Parts {
  Digit digit;
  Spread spread;

  [[nodiscard]] Range range(Count relative) const {
    return spread.range((digit.value() + relative) % digit.order);
  }
  /// The numbers of `parts` parts from `first` on, in the order in which a message holds them: all
  /// parts travel in the vector's own order.
  [[nodiscard]] std::vector<Count> block(Count first, Count parts) const {
    const Count begin = parts == digit.order ? digit.order - digit.value() : first;
    std::vector<Count> numbers;
    for (Count i = 0; i < parts; ++i) numbers.push_back((begin + i) % digit.order);
    return numbers;
  }
};

/// An own partial result and the one received for it.
struct Pair {
  Slice own;
  Slice received;
};

/// One level's reduction on one rank.
class Reduction {
 public:
  Reduction(const Level& level, const Parts& parts, const Design& design, const Slice& value,
            Builder& builder, Spare& spare, Rooms& rooms)
      : level_(level),
        parts_(parts),
        design_(design),
        builder_(builder),
        spare_(spare),
        rooms_(rooms) {
    for (Count k = 0; k < level.order; ++k) {
      const Range range = parts.range(k);
      value_.push_back(value.part(range.begin, range.count));
    }
  }

  /// `goal`: the place of the results, if this is the last level; otherwise they stay in scratch.
  /// Returns the place where they lie, in the order of a message.
  Slices run(const Slices& goal) {
    const auto steps = reduce_steps(level_);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const bool last = i + 1 == steps.size();
      const auto next = last ? std::vector<Count>{} : block_sent(steps[i + 1]);
      step(steps[i], last, next, last ? goal : Slices{});
    }
    if (!result_.empty() && level_.kept > 1) rooms_.give(value_home_);
    Slices results;
    for (const Count k : parts_.block(0, level_.kept)) results.push_back(result(k));
    return results;
  }

 private:
  [[nodiscard]] Count parts_of(const Step& step) const {
    return std::min(level_.order, step.moved() + level_.kept - 1);
  }
  [[nodiscard]] std::vector<Count> block_sent(const Step& step) const {
    return parts_.block(step.smaller, parts_of(step));
  }
  [[nodiscard]] const Slice& result(Count k) const {
    return result_.empty() ? value_[k] : result_[k];
  }

  void step(const Step& step, bool last, const std::vector<Count>& next, const Slices& goal) {
    builder_.piggyback_again();  // two steps may have the same peer
    const Count shift = step.shift(design_.distance);
    Slices sent;
    for (const Count k : block_sent(step)) sent.push_back(value_[k]);
    send_block(builder_, parts_.digit.peer(shift), sent, design_.reduce_piece, spare_);

    const auto block = parts_.block(step.smaller - shift, parts_of(step));
    const bool right = stands_right(step);
    if (right) make_writable(block, last, goal);
    const Slice landing = land(block, last && !right, goal);
    recv_pieces(builder_, parts_.digit.peer(-shift), landing, design_.reduce_piece);
    if (right) return combine_into_own(block, landing);
    combine(step, last, block, landing, next);
  }

  /// True if the received parts stand on the right. Where all ranks combine all parts, they do so
  /// in the same order: the contributor with the lowest digit stands on the left.
  [[nodiscard]] bool stands_right(const Step& step) const {
    return level_.kept > 1 && one_tree(level_) && parts_.digit.value() % step.size >= step.smaller;
  }
  /// Moves all parts to a place where they may be written, if possible to their final one.
  void make_writable(const std::vector<Count>& block, bool last, const Slices& goal) {
    Slices parts;
    for (const Count k : block) parts.push_back(value_[k]);
    if (count_of(parts) == 0) return;
    const Slice own = joined(parts).front();  // in the order of the vector all lie together
    const Slices place = joined(goal);
    const bool at_goal = last && place.size() == 1 && !in_place();
    if (!at_goal && builder_.writable(own)) return;
    const Slice target = at_goal ? place[0] : rooms_.take(builder_, own.count);
    builder_.copy(own, target);
    move_values(block, target);
    move(value_home_, target);
  }
  void move_values(const std::vector<Count>& block, const Slice& target) {
    Count at = 0;
    for (const Count k : block) {
      value_[k] = target.part(at, value_[k].count);
      at += value_[k].count;
    }
  }
  void combine_into_own(const std::vector<Count>& block, const Slice& landing) {
    merge(block, value_, by_part(block, landing), landing, true);
    rooms_.give(landing);
  }

  Slice land(const std::vector<Count>& block, bool last, const Slices& goal) {
    const Slices place = joined(goal);
    if (last && place.size() == 1 && !in_place()) return place[0];
    Count count = 0;
    for (const Count k : block) count += parts_.range(k).count;
    // Without replication every receive has scratch of its own, so that it can be posted early;
    // with it a receive is as long as all of these together, and scratch is used again.
    return level_.kept > 1 ? rooms_.take(builder_, count) : builder_.scratch(count);
  }
  /// Moves `home`, of partial results or results, to `landing`.
  void move(Slice& home, const Slice& landing) {
    const Slice left = home;
    home = landing;
    const bool used = left == value_home_ || left == result_home_;
    if (level_.kept > 1 && !used) rooms_.give(left);
  }
  /// In place the output still holds this rank's own values.
  [[nodiscard]] bool in_place() const { return builder_.input({0, 0}).buffer == Buffer::output; }

  /// The place of each received part of a block.
  [[nodiscard]] std::vector<Slice> by_part(const std::vector<Count>& block,
                                           const Slice& landing) const {
    std::vector<Slice> received(value_.size());
    Count at = 0;
    for (const Count k : block) {
      received[k] = landing.part(at, parts_.range(k).count);
      at += received[k].count;
    }
    return received;
  }

  void combine(const Step& step, bool last, const std::vector<Count>& block, const Slice& landing,
               const std::vector<Count>& next) {
    const std::vector<Slice> received = by_part(block, landing);
    const bool replicated = level_.kept > 1;
    // A rank holds some parts twice: when the size is odd, the results skip a step, and differ from
    // the partial results of the same parts from then on.
    if (replicated && step.size % 2 == 1 && result_.empty()) {
      result_ = value_;
      result_home_ = value_home_;
    }
    const bool apart = replicated && !result_.empty() && step.size % 2 == 0;
    if (!(apart && last)) combine_partials(apart, block, received, landing, next);
    if (apart) combine_results(received, landing);
    move(apart ? result_home_ : value_home_, landing);
  }

  void combine_partials(bool apart, const std::vector<Count>& block,
                        const std::vector<Slice>& received, const Slice& landing,
                        const std::vector<Count>& next) {
    // The parts that the next step sends are combined first, so that the rest overlaps with
    // sending.
    std::vector<bool> soon(value_.size());
    for (const Count k : next) soon[k] = true;
    const bool all = static_cast<Count>(block.size()) == level_.order;
    for (const bool urgent : {true, false}) {
      std::vector<Count> chosen;
      for (const Count k : block) {
        if (soon[k] == urgent && (!apart || all || k != 0)) chosen.push_back(k);
      }
      merge(chosen, value_, received, landing, apart);
    }
  }
  void combine_results(const std::vector<Slice>& received, const Slice& landing) {
    merge(parts_.block(0, level_.kept), result_, received, landing, false);
  }

  /// Combines `held` op `received` for the parts `numbers`, in the place of `received`. With
  /// `keep`, where the received parts are needed again or stand on the left, it combines `received`
  /// op `held` in the place of `held`.
  void merge(const std::vector<Count>& numbers, std::vector<Slice>& held,
             const std::vector<Slice>& received, const Slice& landing, bool keep) {
    std::vector<Pair> runs;
    for (const Count k : numbers) {
      if (!received[k].empty()) add_run(runs, {held[k], received[k]}, landing);
      if (!keep) held[k] = received[k];
    }
    for (const Pair& run : runs) {
      const Slice& left = keep ? run.received : run.own;
      builder_.combine(left, keep ? run.own : run.received, Into::right);
    }
  }

  /// Joins neighbours; a run ends where a message of the block does.
  void add_run(std::vector<Pair>& runs, const Pair& pair, const Slice& landing) const {
    const Count piece = design_.reduce_piece;
    const auto begins_message = [&](Count at) {
      return piece > 0 && (at - landing.begin) % piece == 0;
    };
    Count done = 0;
    while (done < pair.own.count) {
      const Slice own = pair.own.part(done, pair.own.count - done);
      const Slice got = pair.received.part(done, pair.received.count - done);
      const Count length =
          piece == 0 ? got.count : std::min(got.count, piece - (got.begin - landing.begin) % piece);
      const bool follows =
          !runs.empty() && !begins_message(got.begin) && runs.back().own.buffer == own.buffer &&
          runs.back().own.end() == own.begin && runs.back().received.end() == got.begin;
      if (follows) {
        runs.back().own.count += length;
        runs.back().received.count += length;
      } else {
        runs.push_back({own.part(0, length), got.part(0, length)});
      }
      done += length;
    }
  }

  const Level& level_;
  Parts parts_;
  const Design& design_;
  Builder& builder_;
  Spare& spare_;
  Rooms& rooms_;
  Slice value_home_;  // scratch of the partial results, and of the results; empty: none
  Slice result_home_;
  std::vector<Slice> value_;   // by relative number: the partial results that are sent
  std::vector<Slice> result_;  // the results where they differ from those; empty: nowhere
};

/// Writes one level's distribution on one rank: all results go to the output.
void distribute(const Level& level, const Parts& parts, const Design& design, const Layout& layout,
                Builder& builder, Spare& spare) {
  const auto place = [&](Count first, Count count) {
    Slices slices;
    for (Count k = first; k < first + count; ++k) {
      const Slices part = layout.output(builder, parts.range(k));
      slices.insert(slices.end(), part.begin(), part.end());
    }
    return slices;
  };
  for (const Step& step : distribute_steps(level)) {
    const Count shift = step.shift(design.distance);
    send_block(builder, parts.digit.peer(-shift), place(step.smaller - shift, step.moved()),
               design.distribute_piece, spare);
    recv_block(builder, parts.digit.peer(shift), place(step.smaller, step.moved()),
               design.distribute_piece);
  }
}

/// The places of the results that a level keeps.
Layout kept_layout(const Level& level, const Parts& parts, const Layout& layout) {
  std::vector<Range> ranges;
  for (const Count k : parts.block(0, level.kept)) {
    const auto part = layout.part(parts.range(k));
    ranges.insert(ranges.end(), part.begin(), part.end());
  }
  return Layout(std::move(ranges));
}

}  // namespace

/// True if all ranks hear of each other. A later piece of a step may contain data that were
/// received after the first piece, which carries the words, had left.
bool levels_inform(const Plan& plan) {
  const Design design = from_table(plan.table, plan.problem.ranks);
  return plan.problem.count >= plan.problem.ranks && design.reduce_piece == 0;
}

void build_levels(const Plan& plan, Builder& builder) {
  const Design design = from_table(plan.table, plan.problem.ranks);
  std::vector<Layout> layouts = {Layout({{0, plan.problem.count}})};
  std::vector<Parts> parts;
  Slice value = builder.input({0, plan.problem.count});
  Count longest = 0;
  for (const Work& work : work_of(design, plan.problem.count))
    longest = std::max(longest, work.sent);
  Spare spare(longest);
  Rooms rooms;
  Count stride = 1;
  for (std::size_t i = 0; i < design.levels.size(); ++i) {
    const Level& level = design.levels[i];
    parts.push_back({{builder.me(), stride, level.order}, Spread(value.count, level.order)});
    stride *= level.order;
    layouts.push_back(kept_layout(level, parts[i], layouts[i]));
    const Slices goal = layouts.back().output(builder, {0, layouts.back().count()});
    const bool last = i + 1 == design.levels.size();
    Reduction reduction(level, parts[i], design, value, builder, spare, rooms);
    const Slices results = joined(reduction.run(last ? goal : Slices{}));
    const Slice left = value;
    value = results.empty() ? Slice{} : results.front();  // a level leaves them together
    if (!value.overlaps(left)) rooms.give(left);
  }
  Count at = 0;
  for (const Slice& goal : joined(layouts.back().output(builder, {0, layouts.back().count()}))) {
    builder.copy(value.part(at, goal.count), goal);
    at += goal.count;
  }
  builder.stop_piggybacking();  // every rank has completed a part, and so has heard of all
  for (std::size_t i = design.levels.size(); i-- > 0;) {
    distribute(design.levels[i], parts[i], design, layouts[i], builder, spare);
  }
}

}  // namespace latecomer::allreduce
