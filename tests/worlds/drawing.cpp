#include <algorithm>
#include <map>
#include <numeric>

#include "worlds/world.hpp"

namespace latecomer::worlds {
namespace {

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}
  int below(int limit) { return static_cast<int>(random_() % static_cast<std::uint64_t>(limit)); }
  bool once_in(int times) { return below(times) == 0; }
  /// Small values as often as large ones, up to `limit`.
  int spread(int limit) {
    int bits = 0;
    while (limit >> bits > 1) ++bits;
    return std::min(limit, (1 << below(bits + 1)) + below(1 << below(bits + 1)) - 1);
  }
  double part() { return static_cast<double>(random_() >> 11) * 0x1p-53; }

 private:
  std::mt19937_64 random_;
};

std::vector<Time> computes(Draw& draw, int ranks, int late, Time usual) {
  std::vector<Time> all(ranks);
  for (auto& each : all) each = static_cast<Time>(static_cast<double>(usual) * draw.part());
  if (late >= 0) all[late] += usual * 5;
  return all;
}

/// Where the ranks are: each alone, in blocks, in uneven blocks, dealt out, or anywhere.
std::vector<int> placement(Draw& draw, int ranks) {
  std::vector<int> hosts(ranks);
  std::iota(hosts.begin(), hosts.end(), 0);
  const int kind = draw.below(8);
  const int size = 1 + draw.below(5);
  const int number = 1 + draw.below(ranks);
  if (kind < 3) return hosts;
  int host = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    if (kind == 5) host += rank > 0 && draw.once_in(size) ? 1 : 0;
    hosts[rank] = kind < 5    ? rank / size
                  : kind == 5 ? host
                  : kind == 6 ? rank % number
                              : draw.below(number);
  }
  return hosts;
}

/// From step `from` on, communicator `comm` is neither split nor freed.
void keep(World& world, int from, int comm) {
  for (std::size_t i = from; i < world.steps.size(); ++i) {
    Step& step = world.steps[i];
    if (step.comm == comm && step.kind >= Kind::split) step.count = 0;
  }
}

/// At most one kind of fault, so that it is known what may follow.
void draw_fault(Draw& draw, World& world) {
  const auto steps = static_cast<int>(world.steps.size());
  const int rank = draw.below(world.ranks);
  const int number = draw.below(steps);
  switch (draw.below(8)) {
    case 0:
      world.dies = rank;
      world.dies_before = number;
      if (draw.once_in(2)) world.dies_after = kMicrosecond * (1 + draw.spread(20000));
      return;
    case 1: {
      Step& step = world.steps[number];
      if (step.kind >= Kind::split) return;
      constexpr Wrong kDrawn[] = {Wrong::negative, Wrong::root, Wrong::buffer,
                                  Wrong::null_op,  Wrong::op,   Wrong::freed,
                                  Wrong::count,    Wrong::type, Wrong::other_root};
      step.wrong = kDrawn[draw.below(9)];
      step.wrong_rank = rank;
      step.again = draw.below(4) != 0;
      if (step.wrong >= Wrong::count || !step.again) keep(world, number, step.comm);
      return;
    }
    case 2:
      world.shortage = {rank,
                        Resource::heap,
                        number,
                        std::size_t{4096} << draw.below(8),
                        draw.spread(100),
                        draw.once_in(2) ? 1 : draw.spread(1000)};
      return;
    case 3:
      world.shortage = {rank, Resource::node, draw.below(std::min(steps, 10)),
                        0,    draw.below(8),  draw.once_in(2) ? 1 : draw.spread(100)};
      return;
    default:
      return;
  }
}

}  // namespace

World draw(std::uint64_t seed, int most_ranks, int steps) {
  Draw draw(seed);
  World world;
  world.seed = seed;
  world.ranks = 2 + draw.spread(most_ranks - 1) - 1;
  world.ranks = std::clamp(world.ranks, 2, most_ranks);
  world.hosts = placement(draw, world.ranks);
  world.net.start_up = kMicrosecond * (1 + draw.spread(60));
  world.net.byte = 0.05 * (1 + draw.spread(400));
  world.net.jitter = draw.once_in(2) ? 0 : 4 * draw.part();
  world.net.eager = std::size_t{1} << draw.below(17);
  if (draw.once_in(4)) world.net.slow_one_in = 1 << (4 + draw.below(8));
  if (draw.once_in(2)) world.algorithm += ":random=" + std::to_string(1 + draw.below(1000));
  world.online = draw.below(4) != 0;
  if (draw.once_in(4)) {
    world.environment.emplace_back(draw.once_in(3)
                                       ? "LATECOMER_NODES=off"
                                       : "LATECOMER_NODES=" + std::to_string(1 + draw.below(4)));
  }
  if (draw.once_in(8)) world.environment.emplace_back("LATECOMER_REPRODUCIBLE=1");
  if (draw.once_in(16)) world.other_settings = draw.below(world.ranks);
  if (draw.once_in(2)) {
    for (int rank = 0; rank < world.ranks; ++rank)
      world.drifts.push_back((draw.part() - 0.5) * 1e-4);
  }
  int comms = 1;
  const int late = draw.once_in(2) ? draw.below(world.ranks) : -1;
  const Time usual = kMicrosecond * (1 + draw.spread(20000));
  int kind = draw.below(6);
  const int largest = std::min(1 << 14, (1 << 17) / world.ranks);
  int size = draw.spread(largest);
  for (int i = 0; i < steps; ++i) {
    Step step;
    if (draw.once_in(30)) {
      step.kind = draw.once_in(3) ? Kind::free_comm : Kind::split;
      step.comm = draw.below(comms);
      step.count = 1 + draw.below(3);
      step.root = draw.below(2);
      if (step.kind == Kind::split) ++comms;
    } else {
      if (draw.once_in(10)) kind = draw.below(6);
      if (draw.once_in(10)) size = draw.spread(largest);
      step.kind = static_cast<Kind>(kind);
      step.comm = draw.below(2) == 0 ? 0 : draw.below(comms);
      step.count = draw.once_in(20) ? 0 : size;
      step.type = draw.below(3);
      step.root = draw.once_in(2) ? 0 : draw.below(world.ranks);
    }
    step.compute = computes(draw, world.ranks, late, usual);
    world.steps.push_back(std::move(step));
  }
  if (draw.once_in(8)) {  // a rank stops for a while
    world.steps[draw.below(steps)].compute[draw.below(world.ranks)] += kSecond * draw.spread(200);
  }
  draw_fault(draw, world);
  return world;
}

namespace {

/// A world's steps with calls that are started, and waits for them.
class Requests {
 public:
  explicit Requests(World& world)
      : draw_(world.seed ^ 0x7265717565737473U),
        ranks_(world.ranks),
        start_one_in_(1 + draw_.below(4)),
        wait_one_in_(1 + draw_.below(8)) {}

  std::vector<Step> steps;

  void add(Step step) {
    const bool frees = step.kind == Kind::free_comm && step.comm > 0 && step.count > 0;
    if (frees && !draw_.once_in(4)) wait(step.comm);  // otherwise started calls go with it
    if (frees) {
      started_.erase(step.comm);
      idle_.erase(step.comm);
    }
    if (step.kind < Kind::split && draw_.once_in(start_one_in_)) start(step);
    step.tells = draw_.once_in(4);
    steps.push_back(std::move(step));
  }
  /// Waits for requests of some communicators.
  void wait_for_some() {
    while (!started_.empty() && draw_.once_in(wait_one_in_)) {
      wait(std::next(started_.begin(), draw_.below(static_cast<int>(started_.size())))->first);
    }
  }

 private:
  /// The call becomes a new persistent one, or an earlier one that nobody uses.
  void start(Step& step) {
    auto& idle = idle_[step.comm];
    if (!idle.empty() && step.wrong == Wrong::none && draw_.once_in(2)) {
      const Step& again = idle.back();
      step.kind = again.kind;
      step.count = again.count;
      step.type = again.type;
      step.root = again.root;
      step.request = again.request;
      idle.pop_back();
    } else {
      step.request = made_++;
    }
    started_[step.comm].push_back(step);
  }
  void wait(int comm) {
    const auto found = started_.find(comm);
    if (found == started_.end()) return;
    Step step{.kind = Kind::wait, .comm = comm};
    step.root = draw_.below(2);
    step.compute = computes(draw_, ranks_, -1, kMicrosecond * (1 + draw_.spread(2000)));
    steps.push_back(std::move(step));
    auto& idle = idle_[comm];
    if (steps.back().root == 1) idle.clear();
    if (steps.back().root == 0) {
      for (auto& each : found->second) idle.push_back(std::move(each));
    }
    started_.erase(found);
  }

  Draw draw_;
  int ranks_;
  int start_one_in_;
  int wait_one_in_;
  int made_ = 0;
  std::map<int, std::vector<Step>> started_;  // by communicator
  std::map<int, std::vector<Step>> idle_;
};

}  // namespace

World with_requests(World world) {
  Requests requests(world);
  std::vector<int> places;  // of the steps, among the new ones
  for (Step& step : world.steps) {
    requests.add(std::move(step));
    places.push_back(static_cast<int>(requests.steps.size()) - 1);
    requests.wait_for_some();
  }
  world.dies_before = places[world.dies_before];
  world.shortage.step = places[world.shortage.step];
  world.steps = std::move(requests.steps);
  return world;
}

World with_traces(World world, const std::string& folder) {
  world.traces = folder + "/" + std::to_string(world.seed);
  return world;
}

World with_dropin(World world) {
  Draw draw(world.seed ^ 0x64726f70696eU);
  world.dropin = true;
  auto& environment = world.environment;
  if (draw.once_in(2)) {
    environment.push_back("LATECOMER_MIN_BYTES=" + std::to_string(draw.spread(1 << 16)));
  }
  if (draw.once_in(8)) environment.emplace_back("LATECOMER_STATS=1");
  if (draw.once_in(16)) environment.emplace_back("LATECOMER=observe");
  if (draw.once_in(8)) world.without = draw.below(world.ranks);
  world.spellings.resize(world.ranks);
  if (draw.once_in(2)) {
    for (auto& each : world.spellings) each = static_cast<Spelling>(draw.below(3));
  }
  world.begins = computes(draw, world.ranks, -1, 10'000 * kMicrosecond);
  if (draw.once_in(4)) {
    world.begins[draw.below(world.ranks)] += kMicrosecond * draw.spread(1 << 25);
  }
  return world;
}

}  // namespace latecomer::worlds
