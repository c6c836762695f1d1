// Choosers on a made-up machine: calls take as long as a test says.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <string_view>
#include <vector>

#include "algorithms/plans.hpp"
#include "choose/chooser.hpp"
#include "price/price.hpp"

namespace latecomer::testing {

inline const Problem kProblem{Collective::allreduce, 16, 1 << 20, 4};

inline std::vector<Seconds> one_late(Seconds delay) {
  std::vector<Seconds> arrivals(16, 0);
  arrivals[5] = delay;
  return arrivals;
}

/// How long ranks wait for the last one on average.
inline Seconds waited(const std::vector<Seconds>& arrivals) {
  if (arrivals.empty()) return 0;
  return *std::max_element(arrivals.begin(), arrivals.end()) -
         std::accumulate(arrivals.begin(), arrivals.end(), 0.0) /
             static_cast<double>(arrivals.size());
}

/// How many times its price on the built-in network a call of an algorithm takes.
using Machine = std::function<double(std::string_view row)>;

inline Plan fastest_plan(const Problem& problem) {
  return make_plan(find_algorithm(problem.collective, "fastest"), problem, {}, {});
}

/// The ranks of a communicator: one chooser, and the stamps of the others.
class World {
 public:
  explicit World(Rank ranks = 16, Collective collective = Collective::allreduce)
      : chooser(0, ranks), ranks_(static_cast<std::size_t>(ranks)) {
    chooser.policy().choice(collective) = {&find_algorithm(collective, "auto"), {}};
    for (Rank rank = 1; rank < ranks; ++rank) others_.emplace_back(rank, ranks);
  }

  /// One call, which takes `machine(row)` times its price. `given`: expected arrivals; `actual`:
  /// those that come. Returns the row.
  std::string_view call(const Problem& problem, const Machine& machine,
                        const std::vector<Seconds>& given = {},
                        const std::vector<Seconds>& actual = {}) {
    const CallClass* const before = chooser.glance(problem).call_class;
    if (before != nullptr && before->active && chooser.policy().given != given) {
      chooser.policy().given = given;
      chooser.expect_anew();
    }
    const auto [call_class, left] = chooser.glance(problem);
    if (left) return watch(problem, call_class, machine);
    CallClass& of = *call_class;
    const Decision decision = chooser.decide(problem, call_class);
    repeated += decision.repeated ? 1 : 0;
    const std::vector<Seconds>& arrivals = actual.empty() ? given : actual;
    const Seconds predicted = price(decision, problem, given);
    const std::string_view name = name_of(decision);
    Seconds taken = seconds ? seconds(name) : predicted * machine(name);
    moving += taken;
    const Seconds all_in = taken + overhead * balanced(problem);
    const Seconds alone = taken;
    if (rooted(problem.collective)) taken -= waited(arrivals);
    const bool piggybacks = decision.plan && chooser.piggybacks(*decision.plan);
    const bool watched = decision.exchange_arrivals || piggybacks;
    if (watched) observe(arrivals, taken + watching, ahead ? predicted * ahead(name) : 0);
    observed += watched ? 1 : 0;
    last = decision;
    if (chooser.measured(of, decision.plan ? 0 : alone, all_in + (watched ? watching : 0))) {
      (void)chooser.reviewed(of, problem, chooser.review(of, true));
    }
    return name;
  }

  /// All ranks say when they came, and left after `taken` from the last arrival on; the others
  /// `before_last` earlier.
  void observe(const std::vector<Seconds>& arrivals, Seconds taken, Seconds before_last = 0) {
    time += 1;
    const Seconds last_arrival =
        arrivals.empty() ? 0 : *std::max_element(arrivals.begin(), arrivals.end());
    const auto arrival = [&](std::size_t rank) { return arrivals.empty() ? 0 : arrivals[rank]; };
    const Seconds exit = time + last_arrival + taken;
    const auto exit_of = [&](std::size_t rank) {
      return arrival(rank) == last_arrival ? exit : exit - before_last;
    };
    Piggyback& piggyback = chooser.watch()->begin_exchange(time + arrival(0), exit_of(0));
    for (std::size_t rank = 1; rank < ranks_; ++rank) {
      std::vector<char> data;
      others_[rank - 1].begin_exchange(time + arrival(rank), exit_of(rank)).pack(data);
      piggyback.unpack(data.data(), data.size());
    }
    chooser.watch()->end_exchange();
    chooser.learn();
    time = exit;
  }

  Chooser chooser;
  Decision last;
  int observed = 0;
  int repeated = 0;
  int reviews = 0;
  Seconds time = 0;
  Seconds moving = 0;    // from the last arrivals on
  double overhead = 0;   // of a call that is decided about, without an arrival exchange
  Seconds watching = 0;  // that a watched call takes longer
  /// How many times its price the ranks that do not come last leave a call before that one; null:
  /// all leave together.
  Machine ahead;
  /// The seconds that a call of a row takes, whatever its price; null: by the machine.
  std::function<Seconds(std::string_view row)> seconds;

 private:
  /// The library, or the algorithm of the plan; of `nodes` that among nodes.
  static std::string_view name_of(const Decision& decision) {
    if (decision.plan == nullptr) return "native";
    if (decision.row->name != "nodes") return decision.plan->algorithm;
    return decision.plan->inner.front().algorithm;
  }

  /// On the built-in network, whatever is believed of it.
  [[nodiscard]] Seconds price(const Decision& decision, const Problem& problem,
                              const std::vector<Seconds>& given) {
    if (decision.plan == nullptr) return balanced(problem);
    if (decision.plan == priced_ && given == priced_for_) return price_;
    priced_ = decision.plan;
    priced_for_ = given;
    const Placement& placement = chooser.placement();
    price_ = given.empty() ? balanced_time(*priced_, {}, placement)
                           : mean_after_last(*priced_, {}, given, placement);
    if (rooted(problem.collective)) price_ += waited(given);
    return price_;
  }

  static Seconds balanced(const Problem& problem) {
    const Algorithm& fastest = find_algorithm(problem.collective, "fastest");
    return balanced_time(make_plan(fastest, problem, {}, {}), {});
  }

  std::string_view watch(const Problem& problem, CallClass* of, const Machine& machine) {
    chooser.skip();
    const Seconds taken = seconds ? seconds("native") : balanced(problem) * machine("native");
    time += taken;
    moving += taken;
    if (of == nullptr || !chooser.watched(*of, taken)) return "native";
    ++reviews;
    if (chooser.reviewed(*of, problem, chooser.review(*of, true)) && !chooser.watch()) {
      chooser.connected(1);
      chooser.watch_arrivals();
    }
    return "native";
  }

  std::size_t ranks_;
  std::deque<Watch> others_;
  std::shared_ptr<const Plan> priced_;  // last
  std::vector<Seconds> priced_for_;
  Seconds price_ = 0;
};

struct Played {
  std::vector<std::string_view> rows;  // call by call

  [[nodiscard]] int count(std::string_view row, std::size_t from = 0) const {
    return static_cast<int>(
        std::count(rows.begin() + static_cast<std::ptrdiff_t>(from), rows.end(), row));
  }
};

inline Played play(World& world, int calls, const std::vector<Seconds>& given,
                   const Machine& machine, const Problem& problem = kProblem) {
  Played played;
  for (int i = 0; i < calls; ++i) played.rows.push_back(world.call(problem, machine, given));
  return played;
}

inline double same(std::string_view /*row*/) { return 1; }

/// Until both balanced candidates are judged.
inline void warm_up(World& world, const Machine& machine = same,
                    const Problem& problem = kProblem) {
  play(world, 12, {}, machine, problem);
}

}  // namespace latecomer::testing
