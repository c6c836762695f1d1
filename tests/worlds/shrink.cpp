#include <algorithm>
#include <sstream>

#include "worlds/world.hpp"

namespace latecomer::worlds {
namespace {

constexpr const char* kNames[] = {"allreduce", "reduce", "bcast", "allgather",   "gather",
                                  "scatter",   "split",  "free",  "wait for all"};

constexpr const char* kWrong[] = {
    "",      "negative count", "root",     "buffer",     "null operator",
    "count", "type",           "operator", "other root", "communicator"};

}  // namespace

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
  best.traces.clear();
  for (std::size_t part = best.steps.size() / 2; part > 0; part /= 2) {
    for (std::size_t from = 0; from + part <= best.steps.size();) {
      World smaller = best;
      const auto begin = smaller.steps.begin() + static_cast<std::ptrdiff_t>(from);
      smaller.steps.erase(begin, begin + static_cast<std::ptrdiff_t>(part));
      for (int* const step : {&smaller.dies_before, &smaller.shortage.step}) {
        if (static_cast<int>(from) < *step) *step -= static_cast<int>(part);
      }
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
        +[](World& each) { each.dies = -1; }, +[](World& each) { each.net.slow_one_in = 0; },
        +[](World& each) { each.without = -1; },
        +[](World& each) { each.begins.assign(each.begins.size(), 0); },
        +[](World& each) { each.spellings.assign(each.spellings.size(), Spelling::plain); },
        +[](World& each) { each.shortage.rank = -1; }, +[](World& each) { each.dies_after = 0; },
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
  text << world.ranks << " ranks on hosts";
  for (const int host : world.hosts) text << ' ' << host;
  text << "; start-up " << world.net.start_up << " ns, " << world.net.byte << " ns a byte, jitter "
       << world.net.jitter << ", one of " << world.net.slow_one_in << " slow, eager to "
       << world.net.eager << " B; algorithm " << world.algorithm
       << (world.online ? ", online" : "");
  for (const auto& each : world.environment) text << ", " << each;
  if (world.other_settings >= 0) text << "; rank " << world.other_settings << " has other settings";
  if (!world.drifts.empty()) text << "; clocks drift";
  if (world.without >= 0) text << "; rank " << world.without << " has no library";
  for (int rank = 0; world.dropin && rank < world.ranks; ++rank) {
    constexpr const char* kSpelled[] = {"MPI_", "PMPI_", "with large counts"};
    text << "; rank " << rank << " begins at " << world.begins[rank] / 1000 << " us, and calls "
         << kSpelled[static_cast<int>(world.spellings[rank])];
  }
  if (world.dies >= 0) text << "; rank " << world.dies << " dies before step " << world.dies_before;
  if (world.dies_after > 0) text << ", " << world.dies_after << " ns into it";
  if (const Shortage& lack = world.shortage; lack.rank >= 0) {
    text << "; rank " << lack.rank << " lacks memory of "
         << (lack.resource == Resource::heap ? "its own" : "its node") << " from step " << lack.step
         << ", of " << lack.least << " B and more, after " << lack.after << " requests "
         << lack.times << " times";
  }
  text << '\n';
  for (std::size_t i = 0; i < world.steps.size(); ++i) {
    const Step& step = world.steps[i];
    text << "  " << i << ": " << kNames[static_cast<int>(step.kind)] << " on communicator "
         << step.comm;
    if (step.kind == Kind::split) {
      text << " into " << step.count << '\n';
      continue;
    }
    if (step.request >= 0) text << " started as request " << step.request;
    if (step.kind == Kind::wait && step.root == 1) text << ", which are freed";
    if (step.kind < Kind::split) {
      text << ", " << step.count << " of type " << step.type << ", root " << step.root;
    }
    if (step.wrong != Wrong::none) {
      text << ", rank " << step.wrong_rank << " has a wrong "
           << kWrong[static_cast<int>(step.wrong)] << (step.again ? " and asks again" : "");
    }
    text << ", after";
    for (const Time each : step.compute) text << ' ' << static_cast<double>(each) / 1000;
    text << " us\n";
  }
  return text.str();
}

}  // namespace latecomer::worlds
