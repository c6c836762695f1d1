// The three all-reduces of the VSS challenge (Hovland, arXiv:2510.13413) as programs: MPICH's
// recursive doubling, recursive multiplying, and reduce-scatter with all-gather. They are verified
// for each number of ranks up to 64, and the rows that are the same are compared with them.
#include <gtest/gtest.h>

#include <tuple>

#include "algorithms/plans.hpp"
#include "algorithms/registry.hpp"
#include "reference/sweeps.hpp"
#include "schedule/builder.hpp"
#include "verify/verify.hpp"

namespace latecomer::mpich {
namespace {

constexpr Rank kMostRanks = testing::kSanitized ? 9 : 64;

Slice whole(const Builder& builder, const Problem& problem) {
  return builder.output({0, problem.count});
}

/// Combines as MPI_Reduce_local(in, inout) does.
void reduce_local(Builder& builder, const Slice& in, const Slice& inout) {
  builder.combine(in, inout, Into::right);
}

Rank power_below(Rank ranks, Rank base) {
  Rank power = 1;
  while (power * base <= ranks) power *= base;
  return power;
}

/// Every even one of the first ranks gives its data to the next one, until a power of two is left;
/// `core(position, rank_at)` is the part of those.
template <class Core>
void fold_pairs(const Problem& problem, Builder& builder, Core&& core) {
  const Rank me = builder.me();
  const Rank extra = problem.ranks - power_below(problem.ranks, 2);
  const auto rank_at = [extra](Rank position) {
    return position < extra ? 2 * position + 1 : position + extra;
  };
  const Slice all = whole(builder, problem);
  const bool paired = me < 2 * extra;
  builder.copy(builder.input({0, problem.count}), all);
  if (paired && me % 2 == 0) {
    builder.send(me + 1, all);
    builder.recv(me + 1, all);
    return;
  }
  const Slice received = builder.scratch(problem.count);
  if (paired) {
    builder.recv(me - 1, received);
    reduce_local(builder, received, all);
  }
  core(paired ? me / 2 : me - extra, rank_at, received);
  if (paired) builder.send(me - 1, all);
}

void recursive_doubling(const Problem& problem, Builder& builder) {
  fold_pairs(problem, builder, [&](Rank position, auto&& rank_at, const Slice& received) {
    const Slice all = whole(builder, problem);
    for (Rank mask = 1; mask < power_below(problem.ranks, 2); mask *= 2) {
      const Rank peer = rank_at(position ^ mask);
      builder.send(peer, all);
      builder.recv(peer, received);
      if (problem.commutative || peer < builder.me()) {
        reduce_local(builder, received, all);
      } else {
        reduce_local(builder, all, received);
        builder.copy(received, all);
      }
    }
  });
}

void reduce_scatter_allgather(const Problem& problem, Builder& builder) {
  fold_pairs(problem, builder, [&](Rank position, auto&& rank_at, const Slice& received) {
    const Rank core = power_below(problem.ranks, 2);
    const auto first = [&](Rank block) {
      return problem.count / core * block + std::min<Count>(block, problem.count % core);
    };
    const auto blocks = [&](Rank begin, Rank end) {
      return Range{first(begin), first(end) - first(begin)};
    };
    Rank begin = 0;
    for (Rank mask = 1; mask < core; mask *= 2) {
      const Rank peer = rank_at(position ^ mask);
      const Rank half = core / (2 * mask);
      const Rank lower = begin;
      if ((position & mask) != 0) begin += half;
      const Rank sent = begin == lower ? lower + half : lower;
      const Range kept = blocks(begin, begin + half);
      builder.send(peer, builder.output(blocks(sent, sent + half)));
      builder.recv(peer, received.part(0, kept.count));
      reduce_local(builder, received.part(0, kept.count), builder.output(kept));
    }
    for (Rank mask = core / 2; mask > 0; mask /= 2) {
      const Rank peer = rank_at(position ^ mask);
      const Rank held = core / (2 * mask);
      const bool upper = (position & mask) != 0;
      const Rank theirs = upper ? begin - held : begin + held;
      builder.send(peer, builder.output(blocks(begin, begin + held)));
      builder.recv(peer, builder.output(blocks(theirs, theirs + held)));
      begin = std::min(begin, theirs);
    }
  });
}

template <Rank base>
void recursive_multiplying(const Problem& problem, Builder& builder) {
  const Rank me = builder.me();
  const Rank core = power_below(problem.ranks, base);
  const Slice all = whole(builder, problem);
  builder.copy(builder.input({0, problem.count}), all);
  if (me >= core) {
    builder.send(me % core, all);
    builder.recv(me % core, all);
    return;
  }
  std::vector<Slice> received;
  for (Rank i = 1; i < base; ++i) received.push_back(builder.scratch(problem.count));
  const auto reduce_in_turn = [&](const std::vector<Slice>& values) {
    for (std::size_t i = 1; i < values.size(); ++i) {
      reduce_local(builder, values[i - 1], values[i]);
    }
    builder.copy(values.back(), all);
  };
  std::vector<Slice> values;
  for (Rank from = me + core; from < problem.ranks; from += core) {
    values.push_back(received[values.size()]);
    builder.recv(from, values.back());
  }
  values.push_back(all);
  reduce_in_turn(values);
  for (Rank distance = 1; distance < core; distance *= base) {
    const Rank group = distance * base;
    values.clear();
    for (Rank i = 0, others = 0; i < base; ++i) {
      const Rank peer = me / group * group + me % distance + i * distance;
      values.push_back(peer == me ? all : received[static_cast<std::size_t>(others++)]);
      if (peer == me) continue;
      builder.send(peer, all);
      builder.recv(peer, values.back());
    }
    reduce_in_turn(values);
  }
  for (Rank to = me + core; to < problem.ranks; to += core) builder.send(to, all);
}

using Build = void (*)(const Problem& problem, Builder& builder);

std::vector<Program> programs(Build build, const Problem& problem) {
  Plan plan;
  plan.algorithm = "mpich";
  plan.problem = problem;
  std::vector<Program> all;
  for (Rank me = 0; me < problem.ranks; ++me) {
    Builder builder(plan, me);
    build(problem, builder);
    all.push_back(builder.finish());
  }
  return all;
}

/// The rule that is broken; empty: none is.
std::string broken(Build build, const Problem& problem) {
  const auto found = verify(problem, programs(build, problem));
  return found ? std::string(found->rule) : "";
}

/// The lengths for which MPICH takes the algorithms.
std::vector<Count> counts(Rank ranks) { return {ranks, 3 * ranks - 1}; }

/// Calls `look(problem, text)` for each.
template <class Look>
void for_all(bool commutative, bool exact, Look&& look) {
  for (Rank ranks = 2; ranks <= kMostRanks; ++ranks) {
    for (const Count count : counts(ranks)) {
      for (const bool in_place : {false, true}) {
        const Problem problem{Collective::allreduce, ranks,    count, 4, 0,
                              commutative,           in_place, exact};
        look(problem, std::to_string(ranks) + " ranks, " + std::to_string(count) +
                          (in_place ? " elements in place" : " elements"));
      }
    }
  }
}

/// MPICH takes it for operators that commute alone.
TEST(MpichAllreduce, ReduceScatterWithAllgatherIsRightWhereTheOperatorCommutes) {
  for_all(true, false, [](const Problem& problem, const std::string& text) {
    EXPECT_EQ(broken(reduce_scatter_allgather, problem), "") << text;
  });
  for_all(false, false, [](const Problem& problem, const std::string& text) {
    EXPECT_EQ(broken(reduce_scatter_allgather, problem), "order") << text;
  });
}

/// Where the operator commutes each rank combines what it received with its own, in that order, so
/// that two ranks have other operands on the left: the bits of inexact operators may differ.
TEST(MpichAllreduce, RecursiveDoublingIsRightButForTheLastBitsWhereTheOperatorCommutes) {
  for_all(false, false, [](const Problem& problem, const std::string& text) {
    EXPECT_EQ(broken(recursive_doubling, problem), "") << text;
  });
  for_all(true, true, [](const Problem& problem, const std::string& text) {
    EXPECT_EQ(broken(recursive_doubling, problem), "") << text;
  });
  for_all(true, false, [](const Problem& problem, const std::string& text) {
    EXPECT_EQ(broken(recursive_doubling, problem), "same-tree") << text;
  });
}

/// It keeps the order among a power of its base; MPICH asks it for nothing else.
template <Rank base>
void expect_multiplying_is_right() {
  for_all(true, false, [](const Problem& problem, const std::string& text) {
    EXPECT_EQ(broken(recursive_multiplying<base>, problem), "") << text << ", base " << base;
  });
  for_all(false, false, [](const Problem& problem, const std::string& text) {
    const bool power = power_below(problem.ranks, base) == problem.ranks;
    EXPECT_EQ(broken(recursive_multiplying<base>, problem), power ? "" : "order")
        << text << ", base " << base;
  });
}

TEST(MpichAllreduce, RecursiveMultiplyingIsRightAndInOrderAmongPowers) {
  expect_multiplying_is_right<2>();
  expect_multiplying_is_right<3>();
  expect_multiplying_is_right<4>();
  expect_multiplying_is_right<8>();
}

using Messages = std::vector<std::tuple<OpKind, Rank, Count>>;

std::vector<Messages> messages(const std::vector<Program>& all) {
  std::vector<Messages> found;
  for (const Program& program : all) {
    Messages& mine = found.emplace_back();
    for (const Operation& op : program.operations) {
      if (op.kind == OpKind::send) mine.emplace_back(op.kind, op.peer, op.source.count);
      if (op.kind == OpKind::recv) mine.emplace_back(op.kind, op.peer, op.target.count);
    }
  }
  return found;
}

TEST(MpichAllreduce, TwoOfTheRowsSendTheSame) {
  const std::pair<const char*, Build> rows[] = {{"recursive_doubling", recursive_doubling},
                                                {"rabenseifner", reduce_scatter_allgather}};
  for (const auto& [name, build] : rows) {
    const Algorithm& row = find_algorithm(Collective::allreduce, name);
    for_all(false, false, [&](const Problem& problem, const std::string& text) {
      EXPECT_EQ(messages(build_programs(make_plan(row, problem, {}, {}))),
                messages(programs(build, problem)))
          << name << ", " << text;
    });
  }
}

}  // namespace
}  // namespace latecomer::mpich
