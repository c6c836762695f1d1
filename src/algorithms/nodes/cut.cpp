#include "algorithms/nodes/cut.hpp"

#include <algorithm>
#include <cmath>

#include "algorithms/plans.hpp"
#include "algorithms/registry.hpp"

namespace latecomer {
namespace {

constexpr std::string_view kCells = "cells";
constexpr std::string_view kLanes = "lanes";
constexpr Count kShortestLane = 131072;  // bytes, of two lanes
constexpr Count kLongerLane = 524288;    // bytes, of three or more
constexpr double kMostLanes = 4;

// On one node pieces are longer: nothing leaves it, and memcpy writes what is longer than half a
// MiB past the cache, which took half the time for vectors that do not fit in there.
constexpr Count kFewPieces = 8;
constexpr Count kLongestPiece = 524288;

Count usual_pieces(Count bytes, const Nodes& nodes) {
  Count piece = kShortestPiece;
  if (nodes.count() == 1) piece = std::clamp(bytes / kFewPieces, kShortestPiece, kLongestPiece);
  return std::clamp<Count>(bytes / piece, 1, kMostPieces);
}

/// The flags of a piece, but for those of its slices.
Count flags_of_piece(const Plan& plan, const Nodes& nodes) {
  return 2 + (has_cells(plan) ? Count{nodes.most()} : 0);
}

bool waves_fit(const Problem& problem, Count copies, Count flags) {
  return problem.element_bytes <= kMaxNodeBytes / copies &&
         number_of_waves(problem, copies) <= kMaxNodeFlags / flags;
}

bool cells_fit(const Problem& problem, const Nodes& nodes) {
  return waves_fit(problem, nodes.most(), 3 + nodes.most());
}

/// The root has all that the others wait for, so it drives its node however late it is.
bool root_drives(const Problem& problem) {
  return problem.collective == Collective::bcast || problem.collective == Collective::scatter;
}

}  // namespace

Count number_of_waves(const Problem& problem, Count copies) {
  const Count most = std::max<Count>(1, kMaxNodeBytes / problem.element_bytes / copies);
  return (problem.count + most - 1) / most;
}

Count copies_of(const Plan& plan, const Nodes& nodes) { return has_cells(plan) ? nodes.most() : 1; }

/// An operator that does not commute takes the vectors in the order of ranks, node by node.
bool goes_in_waves(const Problem& problem, const Placement& placement) {
  if (!shares_nodes(placement) || problem.count == 0 || problem.element_bytes == 0) return false;
  if (problem.commutative) return waves_fit(problem, 1, 3);
  const Nodes nodes(placement, problem.ranks);
  return nodes.contiguous() && cells_fit(problem, nodes);
}

std::vector<Problem> waves_among(const Plan& plan, const Nodes& nodes) {
  const Count parts = number_of_waves(plan.problem, copies_of(plan, nodes)) * lanes_of(plan);
  const Partition lengths(plan.problem.count, parts);
  std::vector<Problem> all = {problem_among(plan.problem, nodes, lengths.longest())};
  const Count last = lengths.range(parts - 1).count;
  if (last != lengths.longest()) all.push_back(problem_among(plan.problem, nodes, last));
  return all;
}

/// The lanes of a node send at once, over one link, and combine at once, each by itself.
Cost cost_of_waves(const Plan& plan) {
  Cost all;
  if (plan.inner.empty()) return all;
  const Count lanes = lanes_of(plan);
  Cost wave = cost_of(plan.inner.front());
  wave.sent *= lanes;
  wave.exchanged *= lanes;
  const Count waves =
      number_of_waves(plan.problem, copies_of(plan, Nodes(plan.placement, plan.problem.ranks)));
  for (Count i = waves; i > 0; --i) all = all + wave;
  return all;
}

void fill_lanes(Plan& plan, const Knowledge& knowledge) {
  Count& lanes = plan.parameters.try_emplace("lanes", 0).first->second;
  const Nodes nodes(knowledge.placement, plan.problem.ranks);
  if (!goes_in_waves(plan.problem, knowledge.placement) || nodes.count() == 1 || has_cells(plan)) {
    lanes = 1;
    return;
  }
  if (lanes == 0 && !apart(plan.problem, knowledge)) {
    // A driver adds and copies as each rank of its node does, besides it combines what comes.
    const Network& network = knowledge.network;
    const Seconds work = 2 * network.local_beta + network.gamma;
    const double needed =
        work > 0 ? std::ceil(work / std::max(network.beta, work / kMostLanes)) : 1;
    const Count bytes = plan.problem.bytes();
    lanes = std::min({static_cast<Count>(needed), bytes / kShortestLane,
                      std::max<Count>(2, bytes / kLongerLane)});
  }
  const Count waves = number_of_waves(plan.problem);
  const Count most =
      std::min({Count{nodes.most()}, plan.problem.count / waves, kMaxNodeFlags / 3 / waves});
  lanes = std::clamp<Count>(lanes, 1, std::max<Count>(1, most));
}

bool has_cells(const Plan& plan) {
  if (!plan.problem.commutative) return true;
  const auto found = plan.parameters.find(kCells);
  return found != plan.parameters.end() && found->second > 0;
}

Parameter cells_parameter() {
  return {kCells,
          "1: each rank has a part of the node's buffer, and vectors are combined in the order of "
          "ranks; 0: ranks add to one vector as they come; default: 0, and always 1 for operators "
          "that do not commute",
          0,
          {}};
}

void fill_cells(Plan& plan, const Placement& placement) {
  Count& cells = plan.parameters.try_emplace(std::string(kCells), 0).first->second;
  const Problem& problem = plan.problem;
  const auto lack_flags = [&] {
    return goes_in_waves(problem, placement) &&
           !cells_fit(problem, Nodes(placement, problem.ranks));
  };
  cells = !problem.commutative || (cells > 0 && !lack_flags()) ? 1 : 0;
}

Count lanes_of(const Plan& plan) {
  const auto found = plan.parameters.find(kLanes);
  return found == plan.parameters.end() ? 1 : std::max<Count>(1, found->second);
}

Parameter lanes_parameter() {
  return {
      kLanes,
      "drivers of a node, each for a part of the vector; default: 1, or up to 4 where a process "
      "combines more slowly than the link brings",
      1,
      {}};
}

bool apart(const Problem& problem, const Knowledge& knowledge) {
  if (knowledge.arrivals.empty()) return false;
  const auto [least, most] =
      std::minmax_element(knowledge.arrivals.begin(), knowledge.arrivals.end());
  return *most - *least > knowledge.network.transfer(problem.bytes()) / 4;
}

Parameter pieces_parameter() {
  return {"pieces",
          "of the vector, which leave a node one by one; default: of 32 KiB, on one node of up to "
          "512 KiB, at most 64",
          1,
          {}};
}

void fill_pieces(Plan& plan) {
  Count& pieces = plan.parameters.try_emplace("pieces", 0).first->second;
  pieces = among_all(plan) ? 1 : Cut(plan, Nodes(plan.placement, plan.problem.ranks)).pieces;
}

Cut::Cut(const Plan& plan, const Nodes& nodes)
    : waves(number_of_waves(plan.problem, copies_of(plan, nodes))), lanes(lanes_of(plan)) {
  const Count longest = Partition(plan.problem.count, waves * lanes).longest();
  const Count flags = kMaxNodeFlags / (waves * lanes);  // of a wave
  const Count each = flags_of_piece(plan, nodes);       // and one for each slice
  const Count bytes = longest * plan.problem.element_bytes;
  const Count asked = plan.parameters.at("pieces");
  pieces = asked > 0 ? asked : usual_pieces(bytes, nodes);
  pieces = std::clamp<Count>(pieces, 1, std::max<Count>(1, std::min(flags / (each + 1), longest)));
  const Count most = combines(plan.problem.collective) ? nodes.most() : 1;
  slices = std::clamp<Count>(bytes / pieces / kShortestSlice, 1,
                             std::min<Count>(most, flags / pieces - each));
}

Slice Wave::piece(Count piece) const {
  const Range part = Partition(range.count, pieces).range(piece);
  return {Buffer::node, begin + part.begin, part.count};
}

Range Wave::vector(Count piece) const { return vector(this->piece(piece)); }

Slice Wave::slice(Count piece, Count slice) const {
  const Slice whole = this->piece(piece);
  const Range part = Partition(whole.count, slices).range(slice);
  return whole.part(part.begin, part.count);
}

std::vector<Slice> Wave::all_pieces() const {
  std::vector<Slice> all;
  for (Count i = 0; i < pieces; ++i) all.push_back(piece(i));
  return all;
}

std::vector<std::vector<Wave>> waves_of(const Plan& plan, const NodeRank& rank, Builder& builder) {
  const Cut cut(plan, rank.nodes());
  const Partition parts(plan.problem.count, cut.waves * cut.lanes);
  std::vector<std::vector<Wave>> waves(static_cast<std::size_t>(cut.waves));
  Count most = 0;
  for (Count number = 0; number < cut.waves; ++number) {
    Count begin = 0;
    for (Count lane = 0; lane < cut.lanes; ++lane) {
      const Range range = parts.range(number * cut.lanes + lane);
      waves[static_cast<std::size_t>(number)].push_back(
          {number, number + 1 == cut.waves, range, begin, lane, cut.pieces, cut.slices});
      begin += range.count;
    }
    most = std::max(most, begin);
  }
  if (has_cells(plan)) {
    for (std::vector<Wave>& lanes : waves) {
      lanes.front().stride = most;
      lanes.front().begin = (rank.size() - 1) * most;
    }
    most *= rank.size();
  }
  if (!rank.alone()) builder.node(most);
  return waves;
}

Plan plan_of(const Plan& plan, const Wave& wave) {
  const bool longer = plan.inner.front().problem.count == wave.range.count;
  Plan inner = longer ? plan.inner.front() : plan.inner.back();
  inner.telemetry = inner.telemetry && wave.lane == 0;
  return inner;
}

std::vector<Count> choose_drivers(const Problem& problem, const Nodes& nodes, Count lanes,
                                  const std::vector<Seconds>& arrivals, Seconds patience) {
  const auto arrival = [&](Rank rank) {
    return arrivals.empty() ? 0 : arrivals[static_cast<std::size_t>(rank)];
  };
  const auto is_root = [&](Rank rank) {
    return rooted(problem.collective) && rank == problem.root;
  };
  const auto before = [&](Rank a, Rank b) {
    if (root_drives(problem) && is_root(a) != is_root(b)) return is_root(a);
    if (arrival(a) != arrival(b)) return arrival(a) < arrival(b);
    return is_root(a) != is_root(b) ? is_root(a) : a < b;
  };
  const auto number = static_cast<std::size_t>(nodes.count());
  std::vector<Count> drivers(static_cast<std::size_t>(lanes) * number);
  for (Rank node = 0; node < nodes.count(); ++node) {
    std::vector<Rank> ranks = nodes.ranks(node);
    const std::size_t most = std::min(ranks.size(), static_cast<std::size_t>(lanes));
    std::partial_sort(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(most), ranks.end(),
                      before);
    std::size_t there = 1;
    while (there < most && arrival(ranks[there]) <= arrival(ranks[0]) + patience) ++there;
    for (std::size_t lane = 0; lane < static_cast<std::size_t>(lanes); ++lane) {
      drivers[lane * number + static_cast<std::size_t>(node)] = ranks[lane % there];
    }
  }
  return drivers;
}

void check_drivers(const Plan& plan, const Nodes& nodes) {
  if (static_cast<Count>(plan.table.size()) != lanes_of(plan) * nodes.count()) {
    refuse_table(plan, "one rank a node and lane");
  }
  for (std::size_t i = 0; i < plan.table.size(); ++i) {
    const auto node = static_cast<Rank>(i % static_cast<std::size_t>(nodes.count()));
    const auto& ranks = nodes.ranks(node);
    const Count driver = plan.table[i];
    if (std::find(ranks.begin(), ranks.end(), driver) == ranks.end()) {
      refuse_table(plan, "of each node one of its ranks");
    }
    const bool of_root = root_drives(plan.problem) && node == nodes.node(plan.problem.root);
    if (of_root && driver != plan.problem.root) refuse_table(plan, "the root for its node");
  }
}

std::vector<Seconds> arrivals_of_nodes(const Plan& plan, const Nodes& nodes,
                                       const std::vector<Seconds>& arrivals) {
  if (arrivals.empty()) return {};
  std::vector<Seconds> of_nodes;
  const auto arrival = [&](Count rank) { return arrivals[static_cast<std::size_t>(rank)]; };
  for (Rank node = 0; node < nodes.count(); ++node) {
    Seconds at = arrival(plan.table[static_cast<std::size_t>(node)]);
    if (!root_drives(plan.problem)) {
      for (const Rank rank : nodes.ranks(node)) at = std::max(at, arrival(rank));
    }
    of_nodes.push_back(at);
  }
  return of_nodes;
}

}  // namespace latecomer
