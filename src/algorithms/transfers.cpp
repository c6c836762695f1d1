#include "algorithms/transfers.hpp"

#include <algorithm>

#include "base/partition.hpp"
#include "base/threads.hpp"
#include "patterns/powers.hpp"

namespace latecomer::transfers {

std::vector<Range> parts_of(const Problem& problem) {
  std::vector<Range> parts;
  const Partition equal(problem.count, problem.ranks);
  for (Rank rank = 0; rank < problem.ranks; ++rank) {
    const Count begin = parts.empty() ? 0 : parts.back().end();
    parts.push_back(problem.parts.empty()
                        ? equal.range(rank)
                        : Range{begin, problem.parts[static_cast<std::size_t>(rank)]});
  }
  return parts;
}

Count longest_part(const Problem& problem) {
  if (problem.parts.empty()) return Partition(problem.count, problem.ranks).longest();
  return *std::max_element(problem.parts.begin(), problem.parts.end());
}

bool all_have_parts(const Plan& plan) {
  const Problem& problem = plan.problem;
  if (problem.parts.empty()) return problem.count >= problem.ranks;
  return std::ranges::none_of(problem.parts, [](Count part) { return part == 0; });
}

void add(Transfers& transfers, const Transfer& transfer) {
  interruption_point();
  if (!transfer.range.empty()) transfers.push_back(transfer);
}

void add_binomial(Transfers& transfers, Rank ranks, const RankAt& rank_at, Range range,
                  bool in_turn) {
  Rank bit = 1;
  while (bit < ranks) bit *= 2;
  for (bit /= 2; bit > 0; bit /= 2) {
    for (Rank at = 0; at + bit < ranks; at += 2 * bit) {
      add(transfers, {rank_at(at), rank_at(at + bit), range, at == 0, in_turn});
    }
  }
}

namespace {

/// The position behind the last one of the binomial subtree of `at`.
Rank subtree_end(Rank at, Rank ranks) {
  return at == 0 ? ranks : std::min<Rank>(at + (at & -at), ranks);
}

void add_scatter(Transfers& transfers, Rank ranks, const RankAt& rank_at, const Partition& blocks) {
  Rank bit = 1;
  while (bit < ranks) bit *= 2;
  for (bit /= 2; bit > 0; bit /= 2) {
    for (Rank at = 0; at + bit < ranks; at += 2 * bit) {
      const Rank child = at + bit;
      const Range range = blocks.range(child, subtree_end(child, ranks));
      add(transfers, {rank_at(at), rank_at(child), range, at == 0, true});
    }
  }
}

// In turn, as in the scatter: a block that a rank has from the start must not overtake blocks for
// which others wait.

void add_ring(Transfers& transfers, Rank ranks, const RankAt& rank_at, const Partition& blocks,
              Rank place) {
  const auto hand_on = [&](Rank at, Rank round) {
    const Rank block = (at - round + ranks) % ranks;
    const Rank to = at + 1;
    if (block >= to && block < subtree_end(to, ranks)) return;
    add(transfers, {rank_at(at), rank_at(to), blocks.range(block), at == 0, true});
  };
  const Rank first = std::max<Rank>(0, place - 1);
  const Rank last = std::min<Rank>(place, ranks - 2);
  for (Rank round = 0; round + 1 < ranks; ++round) {
    for (Rank at = first; at <= last; ++at) hand_on(at, round);
  }
}

void add_doubling(Transfers& transfers, Rank ranks, const RankAt& rank_at,
                  const Partition& blocks) {
  for (Rank bit = 1; bit < ranks; bit *= 2) {
    for (Rank at = 0; at < ranks; ++at) {
      const Rank first = at & ~(bit - 1);
      const Rank to = at ^ bit;
      if (first >= to && first + bit <= subtree_end(to, ranks)) continue;
      add(transfers, {rank_at(at), rank_at(to), blocks.range(first, first + bit), at == 0, true});
    }
  }
}

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

void add_scatter_allgather(Transfers& transfers, Rank ranks, const RankAt& rank_at, Count count,
                           Gathering way, Rank place) {
  const Partition blocks(count, ranks);
  add_scatter(transfers, ranks, rank_at, blocks);
  if (way == Gathering::doubling) return add_doubling(transfers, ranks, rank_at, blocks);
  add_ring(transfers, ranks, rank_at, blocks, place);
}

Cost scatter_allgather_cost(Rank ranks, Count count, Gathering way) {
  const Count block = Partition(count, ranks).longest();
  Cost scattered;
  Cost doubled;
  for (Rank bit = 1; bit < ranks; bit *= 2) {
    scattered = scattered + Cost{1, std::min(bit, ranks - bit) * block};
    // The scatter has left some ranks with the blocks that the first round would bring.
    doubled = doubled + Cost{1, bit * block, 0, bit == 1 ? 0 : bit * block};
  }
  return scattered + (way == Gathering::doubling ? doubled : Cost{ranks - 1, (ranks - 1) * block});
}

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
