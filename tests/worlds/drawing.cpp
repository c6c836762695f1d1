#include <algorithm>
#include <sstream>

#include "worlds/world.hpp"

namespace latecomer::worlds {
namespace {

constexpr const char* kNames[] = {"allreduce", "reduce",  "bcast", "allgather",
                                  "gather",    "scatter", "split", "free"};

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

}  // namespace

World draw(std::uint64_t seed, int most_ranks, int steps) {
  Draw draw(seed);
  World world;
  world.seed = seed;
  world.ranks = 2 + draw.spread(most_ranks - 1) - 1;
  world.ranks = std::clamp(world.ranks, 2, most_ranks);
  world.per_host = draw.once_in(2) ? 1 : 1 + draw.below(4);
  world.net.start_up = kMicrosecond * (1 + draw.spread(60));
  world.net.byte = 0.05 * (1 + draw.spread(400));
  world.net.jitter = draw.once_in(2) ? 0 : 4 * draw.part();
  world.net.eager = std::size_t{1} << draw.below(17);
  if (draw.once_in(2)) world.algorithm += ":random=" + std::to_string(1 + draw.below(1000));
  world.online = draw.below(4) != 0;
  world.environment = {"LATECOMER_NODES=" +
                       (world.per_host == 1 ? std::string("off") : std::to_string(world.per_host))};
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
  if (draw.once_in(8)) {
    world.dies = draw.below(world.ranks);
    world.dies_before = draw.below(steps);
  }
  return world;
}

World shrink(const World& world, const Outcome& outcome) {
  if (outcome.faults.empty()) return world;
  const auto kind_of = [](const std::string& fault) {
    return fault.substr(fault.find(": ") + 1, 12);
  };
  const std::string kind = kind_of(outcome.faults.front());
  const auto still = [&](const World& smaller) {
    const Outcome seen = play(smaller);
    return std::any_of(seen.faults.begin(), seen.faults.end(),
                       [&](const std::string& fault) { return kind_of(fault) == kind; });
  };
  World best = world;
  for (std::size_t part = best.steps.size() / 2; part > 0; part /= 2) {
    for (std::size_t from = 0; from + part <= best.steps.size();) {
      World smaller = best;
      const auto begin = smaller.steps.begin() + static_cast<std::ptrdiff_t>(from);
      smaller.steps.erase(begin, begin + static_cast<std::ptrdiff_t>(part));
      if (static_cast<int>(from) < smaller.dies_before)
        smaller.dies_before -= static_cast<int>(part);
      if (still(smaller)) {
        best = std::move(smaller);
      } else {
        from += part;
      }
    }
  }
  for (auto change :
       {+[](World& each) { each.drifts.clear(); }, +[](World& each) { each.net.jitter = 0; },
        +[](World& each) { each.other_settings = -1; }, +[](World& each) { each.online = false; },
        +[](World& each) { each.dies = -1; },
        +[](World& each) {
          for (auto& step : each.steps) step.compute.assign(each.ranks, 0);
        }}) {
    World smaller = best;
    change(smaller);
    if (still(smaller)) best = std::move(smaller);
  }
  return best;
}

std::string listing(const World& world) {
  std::ostringstream text;
  text << world.ranks << " ranks, " << world.per_host << " on each host; start-up "
       << world.net.start_up << " ns, " << world.net.byte << " ns a byte, jitter "
       << world.net.jitter << ", eager to " << world.net.eager << " B; algorithm "
       << world.algorithm << (world.online ? ", online" : "");
  for (const auto& each : world.environment) text << ", " << each;
  if (world.other_settings >= 0) text << "; rank " << world.other_settings << " has other settings";
  if (!world.drifts.empty()) text << "; clocks drift";
  if (world.dies >= 0) text << "; rank " << world.dies << " dies before step " << world.dies_before;
  text << '\n';
  for (std::size_t i = 0; i < world.steps.size(); ++i) {
    const Step& step = world.steps[i];
    text << "  " << i << ": " << kNames[static_cast<int>(step.kind)] << " on communicator "
         << step.comm;
    if (step.kind == Kind::split) {
      text << " into " << step.count << '\n';
      continue;
    }
    if (step.kind != Kind::free_comm) {
      text << ", " << step.count << " of type " << step.type << ", root " << step.root;
    }
    text << ", after";
    for (const Time each : step.compute) text << ' ' << static_cast<double>(each) / 1000;
    text << " us\n";
  }
  return text.str();
}

}  // namespace latecomer::worlds
