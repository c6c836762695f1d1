// All-reduce of ranks that share nodes: one vector leaves a node and one comes in, however many
// ranks it has. Ranks add their vectors to the node's buffer as they come, piece by piece; the
// node's driver carries out the program of the node among the nodes; all copy the result. The
// scoreboard finds which operations wait for which pieces, so that the phases overlap.
//
// Cost: of the algorithm among the nodes for N nodes, and m gamma. Where no ranks share a node, and
// for operators that do not commute, it is that algorithm among all ranks.
// Source: this project (docs/nodes.md); ranks of a node as a unit: Luo et al., HAN, CLUSTER 2020.
#include <algorithm>
#include <optional>

#include "algorithms/nodes/among.hpp"
#include "algorithms/nodes/lift.hpp"
#include "algorithms/plan_checks.hpp"
#include "algorithms/registry.hpp"
#include "base/error.hpp"
#include "base/partition.hpp"

namespace latecomer::allreduce {
namespace {

constexpr Count kShortestSlice = 4096;   // bytes that ranks take turns at
constexpr Count kShortestPiece = 32768;  // bytes that leave as soon as they are complete
constexpr Count kMostPieces = 64;

Count waves_of(const Problem& problem) {
  const Count most = std::max<Count>(1, kMaxNodeBytes / problem.element_bytes);
  return (problem.count + most - 1) / most;
}

/// Whether the memory of nodes is used for the problem.
bool on_nodes(const Problem& problem, const Placement& placement) {
  return shares_nodes(placement) && problem.commutative && problem.count > 0 &&
         problem.element_bytes > 0 && problem.element_bytes <= kMaxNodeBytes &&
         waves_of(problem) <= kMaxNodeFlags / 3;
}

/// The waves of a vector that is longer than the node's buffer, the pieces of a wave, which leave
/// one by one, and the slices of a piece, at which the ranks of a node take turns.
struct Cuts {
  Cuts(const Plan& plan, const Nodes& nodes) : waves(waves_of(plan.problem)) {
    const Problem& problem = plan.problem;
    const Count longest = Partition(problem.count, waves).longest();
    const Count flags = kMaxNodeFlags / waves;  // pieces * (slices + 2) of them
    const auto asked = plan.parameters.find("pieces");
    const Count bytes = longest * problem.element_bytes;
    pieces = asked != plan.parameters.end()
                 ? asked->second
                 : std::clamp<Count>(bytes / kShortestPiece, 1, kMostPieces);
    pieces = std::clamp<Count>(pieces, 1, std::max<Count>(1, std::min(flags / 3, longest)));
    slices = std::clamp<Count>(bytes / pieces / kShortestSlice, 1,
                               std::min<Count>(nodes.most(), flags / pieces - 2));
  }

  Count waves;
  Count pieces;
  Count slices;
};

Problem among_nodes(const Problem& problem, Rank nodes, Count count) {
  Problem inner = problem;
  inner.ranks = nodes;
  inner.count = count;
  inner.in_place = true;
  return inner;
}

void fill_plan(Plan& plan, const Knowledge& knowledge) {
  const Problem& problem = plan.problem;
  Knowledge among = knowledge;
  among.placement = {};
  plan.parameters.try_emplace("blocks", 0);
  if (!on_nodes(problem, knowledge.placement)) {
    plan.parameters["pieces"] = 1;
    Problem same = problem;
    same.in_place = false;  // local
    plan.inner = {plan_among(plan, same, among, "early_owners")};
    return;
  }
  const Nodes nodes(knowledge.placement, problem.ranks);
  plan.placement = knowledge.placement;
  plan.table = first_ranks(nodes, knowledge.arrivals);
  plan.parameters["pieces"] = Cuts(plan, nodes).pieces;
  if (nodes.count() == 1) {
    plan.parameters.try_emplace("among", 0);  // none runs
    return;
  }
  among.arrivals = arrivals_of_nodes(nodes, knowledge.arrivals);
  among.background = true;  // a driver waits for its mates, and receives meanwhile
  const Partition waves(problem.count, waves_of(problem));
  for (const Count wave : {Count{0}, waves_of(problem) - 1}) {
    const Count count = waves.range(wave).count;
    if (!plan.inner.empty() && plan.inner.front().problem.count == count) continue;
    const Problem inner = among_nodes(problem, nodes.count(), count);
    plan.inner.push_back(plan_among(plan, inner, among, "early_owners"));
  }
}

/// The operations of one rank on nodes.
class Ranks {
 public:
  Ranks(const Plan& plan, Builder& builder)
      : plan_(plan),
        builder_(builder),
        drivers_{Nodes(plan.placement, plan.problem.ranks), {}},
        cuts_(plan, drivers_.nodes) {
    for (const Count rank : plan.table) drivers_.rank_of.push_back(static_cast<Rank>(rank));
    const Rank me = builder.me();
    mates_ = drivers_.nodes.size(drivers_.nodes.node(me));
    place_ = drivers_.nodes.place(me);
    drives_ = drivers_.drives(me);
    one_node_ = drivers_.nodes.count() == 1;
  }

  void build() {
    const Partition waves(plan_.problem.count, cuts_.waves);
    if (mates_ > 1) vector_ = builder_.node(waves.longest());
    builder_.piggyback(false);  // where, is said explicitly
    for (Count wave = 0; wave < cuts_.waves; ++wave) {
      if (mates_ == 1) {
        alone(wave, waves.range(wave));
      } else {
        with_mates(wave, waves.range(wave));
      }
    }
  }

 private:
  const Plan& inner(Range wave) const {
    return plan_.inner.front().problem.count == wave.count ? plan_.inner.front()
                                                           : plan_.inner.back();
  }
  Program program_among(Range wave) const {
    return build_program(inner(wave), drivers_.nodes.node(builder_.me()));
  }

  /// A node of one rank needs no buffer but the output.
  void alone(Count /*wave*/, Range wave) {
    const Slice output = builder_.output(wave);
    builder_.copy(builder_.input(wave), output);
    lift(program_among(wave), drivers_, output, Builder::kNone, builder_);
  }

  void with_mates(Count wave, Range range) {
    const Partition pieces(range.count, cuts_.pieces);
    std::vector<std::int32_t> slice_flags, final_flags;
    for (Count i = 0; i < cuts_.pieces * cuts_.slices; ++i) slice_flags.push_back(builder_.flag());
    for (Count i = 0; i < cuts_.pieces && !one_node_; ++i) final_flags.push_back(builder_.flag());
    accumulate(range, pieces, slice_flags, wave == 0);
    if (drives_ || one_node_) await_mates(pieces, slice_flags, wave == 0);
    if (drives_ && !one_node_) {
      const Lifted lifted =
          lift(program_among(range), drivers_, vector_.part(0, range.count), stamps_known_, builder_);
      publish(pieces, final_flags, lifted, wave + 1 == cuts_.waves);
    }
    copy_out(range, pieces, final_flags, wave + 1 == cuts_.waves);
  }

  Slice slice_of(const Partition& pieces, Count piece, Count slice) const {
    const Range range = pieces.range(piece);
    const Range within = Partition(range.count, cuts_.slices).range(slice);
    return {Buffer::node, range.begin + within.begin, within.count};
  }

  /// Adds this rank's vector: in each piece its ranks begin at different slices.
  void accumulate(Range wave, const Partition& pieces, const std::vector<std::int32_t>& flags,
                  bool tells) {
    for (Count piece = 0; piece < cuts_.pieces; ++piece) {
      if (!end_of_use_.empty()) {
        const Range range = last_pieces_->range(piece);
        builder_.await({Buffer::node, range.begin, range.count},
                       end_of_use_[static_cast<std::size_t>(piece)], mates_);
      }
    }
    for (Count piece = 0; piece < cuts_.pieces; ++piece) {
      for (Count turn = 0; turn < cuts_.slices; ++turn) {
        const Count slice = (place_ + turn) % cuts_.slices;
        const Slice to = slice_of(pieces, piece, slice);
        const Range from{wave.begin + to.begin, to.count};
        builder_.accumulate(builder_.input(from), to,
                            flags[static_cast<std::size_t>(piece * cuts_.slices + slice)]);
        if (tells && piece == 0 && slice == 0) builder_.piggyback_last();
      }
    }
  }

  void await_mates(const Partition& pieces, const std::vector<std::int32_t>& flags, bool told) {
    for (Count piece = 0; piece < cuts_.pieces; ++piece) {
      for (Count slice = 0; slice < cuts_.slices; ++slice) {
        builder_.await(slice_of(pieces, piece, slice),
                       flags[static_cast<std::size_t>(piece * cuts_.slices + slice)], mates_);
        if (!told || piece > 0 || slice > 0) continue;
        builder_.piggyback_last();
        stamps_known_ = builder_.last();
      }
    }
  }

  void publish(const Partition& pieces, const std::vector<std::int32_t>& flags,
               const Lifted& lifted, bool tells) {
    for (Count piece = 0; piece < cuts_.pieces; ++piece) {
      const Range range = pieces.range(piece);
      builder_.signal({Buffer::node, range.begin, range.count},
                      flags[static_cast<std::size_t>(piece)]);
    }
    if (!tells) return;
    builder_.piggyback_last();
    for (const OpIndex told : lifted.told) builder_.wait_also_for(told);
  }

  void copy_out(Range wave, const Partition& pieces, const std::vector<std::int32_t>& flags,
                bool last) {
    std::vector<std::int32_t> ended;
    for (Count piece = 0; piece < cuts_.pieces; ++piece) {
      const Range range = pieces.range(piece);
      const Slice result{Buffer::node, range.begin, range.count};
      if (!drives_ && !one_node_) {
        builder_.await(result, flags[static_cast<std::size_t>(piece)], 1);
        if (last && piece + 1 == cuts_.pieces) builder_.piggyback_last();
      }
      builder_.copy(result, builder_.output({wave.begin + range.begin, range.count}));
      if (last) continue;
      ended.push_back(builder_.flag());
      builder_.signal_end_of_use(result, ended.back());
    }
    end_of_use_ = std::move(ended);
    last_pieces_ = pieces;
  }

  const Plan& plan_;
  Builder& builder_;
  Drivers drivers_;
  Cuts cuts_;
  Rank mates_ = 1;
  Rank place_ = 0;
  bool drives_ = false;
  bool one_node_ = false;
  Slice vector_;
  OpIndex stamps_known_ = Builder::kNone;
  std::vector<std::int32_t> end_of_use_;  // of the wave before, by piece
  std::optional<Partition> last_pieces_;
};

void build(const Plan& plan, Builder& builder) {
  if (!plan.placement.empty()) return Ranks(plan, builder).build();
  find_algorithm(plan.problem.collective, plan.inner.front().algorithm)
      .build(plan.inner.front(), builder);
}

bool informs_all(const Plan& plan) {
  if (!plan.placement.empty() || plan.inner.empty()) return true;
  const Algorithm& row =
      find_algorithm(plan.problem.collective, plan.inner.front().algorithm);
  return row.informs_all != nullptr && row.informs_all(plan.inner.front());
}

Cost cost(const Plan& plan) {
  if (plan.placement.empty()) return cost_of(plan.inner.front());
  Cost all{0, 0, plan.problem.count};
  if (plan.inner.empty()) return all;
  const Count waves = waves_of(plan.problem);
  for (Count wave = 0; wave + 1 < waves; ++wave) all = all + cost_of(plan.inner.front());
  return all + cost_of(plan.inner.back());
}

void check_nodes(const Plan& plan) {
  const Nodes nodes(plan.placement, plan.problem.ranks);
  const auto refuse = [&](const std::string& remedy) { refuse_table(plan, remedy); };
  if (!on_nodes(plan.problem, plan.placement)) refuse("a problem that nodes take");
  if (plan.table.size() != static_cast<std::size_t>(nodes.count())) refuse("one rank a node");
  for (Rank node = 0; node < nodes.count(); ++node) {
    const auto& ranks = nodes.ranks(node);
    if (std::find(ranks.begin(), ranks.end(), plan.table[static_cast<std::size_t>(node)]) ==
        ranks.end()) {
      refuse("of each node one of its ranks");
    }
  }
}

void check(const Plan& plan) {
  Rank places = plan.problem.ranks;
  std::size_t least = 1;
  if (!plan.placement.empty()) {
    check_nodes(plan);
    places = Nodes(plan.placement, plan.problem.ranks).count();
    least = places == 1 ? 0 : 1;
  }
  if (plan.inner.size() < least) {
    throw Error("inner plans", std::to_string(plan.inner.size()), "at least one");
  }
  for (const Plan& inner : plan.inner) {
    const Algorithm& row = find_algorithm(plan.problem.collective, inner.algorithm);
    if (row.build == nullptr || inner.problem.ranks != places || row.name == "nodes") {
      throw Error("inner plan", inner.algorithm,
                  "a program of " + std::to_string(places) + " places");
    }
    check_plan(inner);
  }
}

}  // namespace

LATECOMER_ROW(allreduce, nodes) {
  return {.arrival_aware = true,
          .scratch_messages = 3,
          .parameters = {among_parameter("allreduce"),
                         {"pieces", "of the vector, which leave a node one by one; default: of "
                                    "32 KiB, at most 64", 1, {}},
                         {"blocks", "of the algorithm among the nodes; default: 0, as many as it takes by itself", 0, {}}},
          .cost_formula = "of the algorithm among the N nodes, + m gamma",
          .source = "this project, docs/nodes.md",
          .fill_plan = fill_plan,
          .build = build,
          .check = check,
          .cost = cost,
          .informs_all = informs_all};
}

}  // namespace latecomer::allreduce
