#include "algorithms/transfers/store.hpp"

#include <algorithm>

#include "base/threads.hpp"

namespace latecomer::transfers {

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

void Store::send(const Transfer& transfer) {
  const bool within = transfer.range.begin >= own_.begin && transfer.range.end() <= own_.end();
  const Slice data =
      within && transfer.own ? builder_.input(transfer.range) : place(transfer.range);
  transfer.in_turn ? builder_.send_in_turn(transfer.to, data) : builder_.send(transfer.to, data);
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

void put_own(const Transfers& transfers, const Problem& problem, Rank me, Store& store) {
  const Range own = problem.before(me);
  Count brought = 0;
  bool joined = false;  // own data travel together with others'
  for (const Transfer& transfer : transfers) {
    if (transfer.to == me) brought += overlap(transfer.range, own);
    joined |=
        transfer.from == me && transfer.own && overlap(transfer.range, own) < transfer.range.count;
  }
  if (brought == own.count || overlap(own, problem.after(me)) < own.count) return;
  joined ? store.join_own() : store.keep_own();
}

}  // namespace

void build(const Transfers& transfers, const Plan& plan, Builder& builder) {
  const Rank me = builder.me();
  Store store(plan, builder);
  put_own(transfers, plan.problem, me, store);
  for (const Transfer& transfer : transfers) {
    interruption_point();
    if (transfer.from == me) store.send(transfer);
    if (transfer.to == me) store.receive(transfer.from, transfer.range);
  }
}

}  // namespace latecomer::transfers
