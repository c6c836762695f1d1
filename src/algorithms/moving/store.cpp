#include "algorithms/moving/store.hpp"

#include <algorithm>

#include "base/interruption.hpp"

namespace latecomer::moving {

Store::Store(const Plan& plan, Builder& builder)
    : builder_(builder), count_(plan.problem.count), own_(plan.problem.before(builder.me())) {}

Slice Store::place(Range range) {
  if (!builder_.background()) return builder_.output(range);
  if (early_.empty()) early_ = builder_.scratch(count_);
  return early_.part(range.begin, range.count);
}

void Store::keep_own() { builder_.copy(builder_.input(own_), builder_.output(own_)); }

void Store::join_own() {
  keep_own();
  if (builder_.background() && !own_.empty()) builder_.copy(builder_.input(own_), place(own_));
}

void Store::send(const Move& move) {
  const bool within = move.range.begin >= own_.begin && move.range.end() <= own_.end();
  const Slice data = within && move.own ? builder_.input(move.range) : place(move.range);
  move.in_turn ? builder_.send_in_turn(move.to, data) : builder_.send(move.to, data);
}

void Store::receive(Rank from, Range range) {
  const Slice landing = place(range);
  builder_.recv(from, landing);
  builder_.copy(landing, builder_.output(range));
}

namespace {

Count overlap(Range a, Range b) {
  return std::max<Count>(0, std::min(a.end(), b.end()) - std::max(a.begin, b.begin));
}

void put_own(const Moves& moves, const Problem& problem, Rank me, Store& store) {
  const Range own = problem.before(me);
  Count brought = 0;
  bool joined = false;  // own data travel together with others'
  for (const Move& move : moves) {
    if (move.to == me) brought += overlap(move.range, own);
    joined |= move.from == me && move.own && overlap(move.range, own) < move.range.count;
  }
  if (brought == own.count || overlap(own, problem.after(me)) < own.count) return;
  joined ? store.join_own() : store.keep_own();
}

}  // namespace

void build(const Moves& moves, const Plan& plan, Builder& builder) {
  const Rank me = builder.me();
  Store store(plan, builder);
  put_own(moves, plan.problem, me, store);
  for (const Move& move : moves) {
    interruption_point();
    if (move.from == me) store.send(move);
    if (move.to == me) store.receive(move.from, move.range);
  }
}

}  // namespace latecomer::moving
