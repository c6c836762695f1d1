#include "algorithms/moving/store.hpp"

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

void build(const Moves& moves, Store& store, Rank me) {
  for (const Move& move : moves) {
    interruption_point();
    if (move.from == me) store.send(move);
    if (move.to == me) store.receive(move.from, move.range);
  }
}

}  // namespace latecomer::moving
