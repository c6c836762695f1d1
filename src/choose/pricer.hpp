// The candidates of a call and their prices. Plans are made, and priced for the expected arrivals,
// as far as the budget of the call's class pays for it (docs/decisions/0016-selection.md).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "algorithms/plans.hpp"
#include "choose/call_class.hpp"

namespace latecomer {

[[nodiscard]] inline bool is_native(const Algorithm& row) { return row.kind == Kind::native; }

/// True for rows that do nothing before a rank has arrived.
[[nodiscard]] inline bool waits_for_arrival(const Algorithm& row) {
  return row.kind == Kind::protocol && !row.runs_ahead;
}

/// Returns true if the ranks arrive at different times.
[[nodiscard]] bool late(const std::vector<Seconds>& arrivals);
/// Returns the mean over the ranks of the seconds that they wait for the last one to arrive.
[[nodiscard]] Seconds waiting(const std::vector<Seconds>& arrivals);

/// How often, by row, plans were made, and priced for given arrivals: what that has taken can be
/// charged to the calls.
struct PlanningDone {
  std::map<std::string_view, std::uint64_t> plans;
  std::map<std::string_view, std::uint64_t> prices;
};

class Pricer {
 public:
  /// Sets the knowledge that the call at hand is planned with, all but the expected arrivals.
  /// `mostly_late`: see Knowledge; null: nothing is known. `nodes`: the placement of ranks may be
  /// used.
  void know(const Network& network, const std::vector<bool>* mostly_late, bool telemetry,
            bool background, bool nodes);
  /// Sets the placement of the ranks. Returns true if it was another one.
  bool place(const Placement& placement);
  [[nodiscard]] const Network& network() const { return known_.network; }
  [[nodiscard]] const Placement& placement() const { return placement_; }

  /// The plan of the call at hand, from the cache. Throws Error as make_plan() does.
  [[nodiscard]] std::shared_ptr<const Plan> plan(const Choice& choice, const Problem& problem,
                                                 const std::vector<Seconds>& expected);
  /// The candidates of the call at hand: the MPI library's collective, which is predicted to take
  /// as long as the best balanced program; that program; its rivals, if asked for; protocols; and
  /// if a rank is expected late the arrival-aware rows. If the budget is too small, only the first.
  [[nodiscard]] std::vector<Candidate> candidates(CallClass& call_class, const Problem& problem,
                                                  const std::vector<Seconds>& expected,
                                                  bool with_rivals = false);
  /// The candidates for a block of calls: the MPI library's collective, and those that can be
  /// priced by what the class's past calls would have cost with them. If the budget is too small,
  /// only the first.
  [[nodiscard]] std::vector<Candidate> candidates_of_block(CallClass& call_class,
                                                           const Problem& problem);
  /// The candidate of this name, the library as `fastest`, with the price that the calls of the
  /// last block would have had; none: the budget is too small, or replays would be too long.
  [[nodiscard]] std::optional<Candidate> priced_for_last(CallClass& call_class,
                                                         const Problem& problem,
                                                         std::string_view name);
  /// The plan, if it is cached or the budget pays for it; otherwise null.
  [[nodiscard]] std::shared_ptr<const Plan> affordable(CallClass& call_class, const Choice& choice,
                                                       const Problem& problem);
  /// The price that a call is compared with once its arrivals are known: an
  /// arrival-independent candidate is priced for these, others keep the price `predicted` that they
  /// were chosen for, so that a wrong estimate counts against them.
  [[nodiscard]] Seconds in_hindsight(CallClass& call_class, std::string_view name,
                                     Seconds predicted, const std::vector<Seconds>& arrivals);

  /// The plans of calls that all ranks decide about.
  [[nodiscard]] const PlanCache& plans() const { return plans_; }
  void clear();
  [[nodiscard]] const PlanningDone& done() const { return done_; }

 private:
  static void follow_tasks(CallClass& call_class);
  [[nodiscard]] PlanCache& plans_for_call() {
    return known_.background ? announced_plans_ : plans_;
  }
  const CachedPlan& get(const Choice& choice, const Problem& problem);
  [[nodiscard]] Seconds priced(const Plan& plan, const std::vector<Seconds>& arrivals);
  [[nodiscard]] const CachedPlan* plan_if_affordable(CallClass& call_class, const Choice& choice,
                                                     const Problem& problem);
  void collect_arrival_independent(CallClass& call_class, const Problem& problem, bool more_rivals);
  [[nodiscard]] std::optional<Replays> replays(const CallClass& call_class, const Plan& plan) const;
  [[nodiscard]] Seconds price(CallClass& call_class, const Plan& plan, const Replays& replays,
                              std::span<const CallSeries> past, std::size_t most);
  void look_for_rivals(CallClass& call_class, const Plan& fastest);
  void price(CallClass& call_class, const Problem& problem, const std::vector<Seconds>& expected);
  void begin_pricing(CallClass& call_class, const Problem& problem,
                     const std::vector<Seconds>& expected);
  [[nodiscard]] Seconds price_of(const CallClass& call_class, const Candidate& candidate,
                                 const std::vector<Seconds>& arrivals);

  PlanCache plans_;
  PlanCache announced_plans_;  // plans of calls that rank 0 decides about for all
  Placement placement_;
  Knowledge known_;  // for planning the call at hand
  PlanningDone done_;
};

}  // namespace latecomer
