// Decisions by price: automatic choice in classes of calls that are active
// (docs/decisions/0016-selection.md).
#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "choose/chooser.hpp"
#include "patterns/powers.hpp"
#include "price/rivals.hpp"

namespace latecomer {
namespace {

constexpr double kGain = 0.95;  // a better candidate's price over the current one's, at most
constexpr std::size_t kPriorWeight = 2;  // calls that must speak for an arrival-aware candidate
constexpr std::uint64_t kExchangeDoublings = 7;  // of the calls between exchanges, at most
constexpr std::uint64_t kMaxUses = 12;           // uses of a candidate whose durations stay unknown
// Part of the time of moving data that exchanges of arrivals may take, if that is less than
// Chooser::kExchanging of all: it follows the last arrival, as nothing else does that they delay.
constexpr double kExchangingOfMoving = 0.05;
constexpr Seconds kLook = 3e-6;  // expecting and deciding, without planning
// The same by a rank that comes late, when its node's other ranks have used the caches for long.
// All wait for it, so there looking may take only a part of the time of moving data, too.
constexpr Seconds kLateLook = 70e-6;
constexpr double kLookingOfMoving = 0.02;
constexpr double kTrialLoss = 0.02;  // part of the time of moving data that trials may lose
constexpr double kDoubted = 1.1;     // prices that are off by more are not trusted
// Ranks come apart if they wait for more than this part of the time that moving data takes, and for
// longer than clocks and schedulers are off.
constexpr double kApart = 0.1;
constexpr Seconds kLeastApart = 50e-6;
// Prices of balanced programs without a closed form are for ranks that come together. Of those that
// come apart a ring took two thirds of its price, and `generalized` all of it.
constexpr double kApartDoubt = 1.5;

// From the end of a pair of watched calls to the next pair, where whole calls are compared:
// watching one of 5 us takes some 30 us more.
constexpr std::uint64_t kBetweenWatched = 1000;

// A last exit counts that is later than the library's by more than this part, and by more than what
// deciding about a call and noting its arrivals may move ranks apart.
constexpr double kLater = 0.05;
constexpr Seconds kLeastLater = 50e-6;

/// The calls of which one is looked at while the same is chosen, such that looking costs at most
/// kLooking of their time.
std::uint64_t calls_between_looks(const CallClass& call_class) {
  const double look = kLook / (Chooser::kLooking * std::max(call_class.elapsed, 1e-9));
  return 1 + static_cast<std::uint64_t>(look);
}

/// The same where a rank is expected late, while the library is chosen.
std::uint64_t calls_between_late_looks(const CallClass& call_class) {
  const double look = kLateLook / (kLookingOfMoving * std::max(call_class.moving, 1e-6));
  return std::max(calls_between_looks(call_class), 1 + static_cast<std::uint64_t>(look));
}

/// Returns false once trials have lost too much.
bool may_try(const CallClass& call_class) {
  return call_class.lost <= kTrialLoss * call_class.moving * static_cast<double>(call_class.calls);
}

/// The rows for nodes follow arrivals, but a rival among them does not.
bool follows_arrivals(const Candidate& candidate) {
  return candidate.row->arrival_aware && candidate.rival.empty();
}

}  // namespace

/// The prices of a class's candidates: predictions, corrected by feedback. A program without
/// feedback is corrected like the balanced one, since both rest on the same cost parameters. A
/// candidate that the last rank leaves later than the library's collective is priced as so much
/// slower, though the rank that came last may leave it earlier: the program may wait for all ranks.
class Chooser::Prices {
 public:
  Prices(const CallClass& call_class, const std::vector<Candidate>& candidates)
      : feedback_(call_class.feedback),
        library_(candidates.empty() ? nullptr : &candidates.front()),
        apart_(call_class.waiting > std::max(kLeastApart, kApart * call_class.moving)) {
    if (const Feedback* feedback = find("fastest")) calibration_ = feedback->factor(1);
  }

  [[nodiscard]] const Feedback* find(std::string_view name) const {
    const auto found = feedback_.find(name);
    return found == feedback_.end() ? nullptr : &found->second;
  }
  [[nodiscard]] bool judged(const Candidate& candidate) const {
    const Feedback* feedback = find(candidate.name());
    return feedback != nullptr && feedback->judged();
  }
  [[nodiscard]] double calibration() const { return calibration_; }
  /// How many times too high the price of a program without feedback may be, against the others':
  /// the less the balanced one's price agrees with what it takes, the less prices are trusted.
  [[nodiscard]] double doubt() const {
    const double off = std::max(calibration_, 1 / std::max(1e-9, calibration_));
    return off > kDoubted ? std::min(kDoubt, off) : 1;
  }
  /// The same for programs whose price is that of balance.
  [[nodiscard]] double doubt_of_programs() const { return apart_ ? kApartDoubt : doubt(); }
  [[nodiscard]] Seconds of(const Candidate& candidate) const {
    const Seconds price = candidate.predicted * factor(candidate);
    if (library_ == nullptr || takes_mean_time(candidate.row->collective)) return price;
    const Seconds of_library = last_exit(*library_);
    const Seconds last = last_exit(candidate);
    if (!later(last, of_library)) return price;
    return std::max(price, library_->predicted * factor(*library_) * last / of_library);
  }
  /// Returns true if further calls of a candidate may show that it is better than `best`, since its
  /// quickest call was, and its calls are too few for medians that chance does not move.
  [[nodiscard]] bool may_be_better(const Candidate& candidate, const Candidate& best) const {
    const Feedback* feedback = find(candidate.name());
    if (candidate.name() == best.name() || feedback == nullptr) return false;
    if (!feedback->tried() || feedback->settled()) return false;
    if (candidate.predicted * feedback->least_factor() < of(best)) return true;
    const bool is_library = &candidate == library_ && !takes_mean_time(candidate.row->collective);
    const Seconds least = candidate.predicted * feedback->least_last_exit_factor();
    return is_library && later(last_exit(best), least);
  }

 private:
  [[nodiscard]] double factor(const Candidate& candidate) const {
    const Feedback* feedback = find(candidate.name());
    if (feedback == nullptr) return calibration_;
    return feedback->factor(calibration_, follows_arrivals(candidate) ? kPriorWeight : 0);
  }
  [[nodiscard]] static bool later(Seconds last, Seconds of_library) {
    return of_library > 0 && last > of_library + std::max(kLeastLater, kLater * of_library);
  }
  /// From the last arrival on; 0 if it is not known.
  [[nodiscard]] Seconds last_exit(const Candidate& candidate) const {
    const Feedback* feedback = find(candidate.name());
    if (feedback == nullptr || !feedback->tried()) return 0;
    return candidate.predicted * feedback->last_exit_factor();
  }

  const std::map<std::string_view, Feedback>& feedback_;
  const Candidate* library_;
  bool apart_;
  double calibration_ = 1;
};

Decision Chooser::decide(const Problem& problem, bool announced) {
  const UserRule* const rule = rule_for(problem, expected_);
  ruled_ = rule != nullptr ? &rule->choice : nullptr;
  const Choice& choice = ruled_ != nullptr ? *ruled_ : policy_.choice(problem.collective);
  const bool automatic = choice.algorithm->name == "auto" && !policy_.reproducible;
  if (automatic) {
    ruled_ = nullptr;
  } else if (chooses(problem)) {
    return decide_by_rule(choice, problem, announced);
  } else {
    return decide_as(choice, problem, announced);
  }
  CallClass& call_class = announced ? announced_class_of(problem) : class_of(problem);
  ++call_class.calls;
  call_class.used = ++events_;
  call_class.pay_in();
  know(problem.collective, announced);
  const bool whole = !announced && compares_whole_calls(call_class, problem.collective);
  if (whole) {
    expected_.clear();
    if (!call_class.recent_counts.note(problem.count))
      return leave_new_count(call_class, problem.collective);
  }
  candidates_ = pricer_.candidates(call_class, problem, expected_,
                                   Prices(call_class, {}).doubt_of_programs() > 1);
  const Candidate* const trial = whole ? nullptr : trial_candidate(call_class);
  const Candidate& usual =
      whole ? candidates_.at(candidates_.size() > 1 ? 1 : 0) : best_of(call_class);
  const Candidate& chosen = trial != nullptr ? *trial : usual;
  if (trial == nullptr && call_class.current != chosen.name()) {
    call_class.current = chosen.name();
    call_class.feedback[chosen.name()].confirm();
  }
  Decision decision{.plan = chosen.plan, .row = chosen.row, .predicted = chosen.predicted};
  if (chosen.plan) decision.action = Decision::Action::plan;
  const bool library_so_far = call_class.feedback.empty();
  Feedback& feedback = call_class.feedback[chosen.name()];
  note({call_class.key, chosen.row, chosen.name(), chosen.predicted,
        feedback.uses() == 0 && !library_so_far, false,
        trial != nullptr && !is_native(*chosen.row) ? price_of_best(call_class) : 0});
  feedback.use(call_class.calls);
  const bool stamped = chosen.plan != nullptr && piggybacks(*chosen.plan);
  const std::uint64_t every =
      trial != nullptr ? 1 : calls_between_watched(call_class, chosen, problem, whole);
  // Stamps of one call bring the exits of the one before: a plan's calls are watched in pairs.
  // An exchange after a short call of the library's would tell nothing that is used.
  const bool watches = !whole || stamped;
  decision.exchange_arrivals =
      watches && (call_class.exits_due || call_class.unobserved + 1 >= every);
  call_class.exits_due = stamped && decision.exchange_arrivals && !call_class.exits_due;
  if (stamped && !decision.exchange_arrivals)
    decision.plan = without_stamps(call_class, chosen.plan);
  call_class.unobserved = decision.exchange_arrivals || !watches ? 0 : call_class.unobserved + 1;
  last_.unusual =
      trial != nullptr || candidates_.size() < 2 || (whole && decision.exchange_arrivals);
  call_class.next_event = 0;
  call_class.repeated = {};
  if (trial == nullptr && is_native(*chosen.row)) {
    rest(call_class, every, decision.exchange_arrivals);
  } else if (trial == nullptr) {
    call_class.balanced_in_a_row = 0;
    if (!announced && !late(expected_) && !call_class.exits_due)
      repeat_decision(call_class, chosen, every);
  }
  return decision;
}

/// A short call of a length that has not come lately: a plan and a program for it would take longer
/// than they gain if it never comes again. The library's durations in such calls count in reviews,
/// so that the class is left alone if no length comes again.
Decision Chooser::leave_new_count(CallClass& call_class, Collective collective) {
  note({});
  candidates_.clear();
  call_class.repeated = {};
  call_class.next_event = 0;
  ++call_class.unobserved;
  return {.row = &native_row(collective)};
}

/// Returns true if reviews alone decide between the library's collective and the best balanced
/// program: watched calls would take longer than others by more than these two differ. Such calls
/// are too short to plan for late ranks. Among the ranks of one node nothing else competes.
bool Chooser::compares_whole_calls(const CallClass& call_class, Collective collective) const {
  const Seconds most = one_node_ ? CallClass::kShort : CallClass::kBrief;
  const bool reviewed = call_class.reviewed_elapsed > 0;
  return reviewed && call_class.reviewed_elapsed < most && !rooted(collective);
}

/// Returns a candidate to try: first the library's collective and the best balanced program, until
/// both have enough feedback; then those whose price may be too high; then again one of the first
/// two, while chance may have made it look slower than the best; later one that was not used for
/// long. Null: none.
const Candidate* Chooser::trial_candidate(CallClass& call_class) const {
  if (candidates_.size() < 2) return nullptr;
  const Prices prices(call_class, candidates_);
  const auto uses = [&](const Candidate& candidate) {
    const Feedback* feedback = prices.find(candidate.name());
    return feedback == nullptr ? 0 : feedback->uses();
  };
  for (const Candidate* each : {&candidates_[0], &candidates_[1]}) {
    if (!prices.judged(*each) && uses(*each) < kMaxUses) return each;
  }
  if (const Candidate* const doubtful = doubtful_candidate(call_class)) return doubtful;
  for (const Candidate& each : candidates_) {
    const Feedback* feedback = prices.find(each.name());
    if (feedback != nullptr && feedback->renewing() && feedback->uses() < kMaxUses) return &each;
  }
  const Candidate& best = best_of(call_class);
  for (const Candidate* each : {&candidates_[0], &candidates_[1]}) {
    if (each != &candidates_[0] && !may_try(call_class)) break;
    if (uses(*each) < kMaxUses && prices.may_be_better(*each, best)) return each;
  }
  if (!may_try(call_class)) return nullptr;
  for (const Candidate& other : candidates_) {
    const auto feedback = call_class.feedback.find(other.name());
    if (other.name() == best.name() || feedback == call_class.feedback.end()) continue;
    if (!feedback->second.tried()) continue;
    if (!feedback->second.due(call_class.calls, prices.of(other) / prices.of(best))) continue;
    feedback->second.renew();
    return &other;
  }
  return nullptr;
}

/// Returns a candidate with less than two durations that would be the best one if its price were
/// too high by as much as is in doubt, or whose trial has begun. Estimates of arrivals are no part
/// of these prices. The time of a protocol differs from call to call, so a small doubt is no reason
/// to try one. A trial begins only if the earlier ones have not lost too much, and after the best
/// candidate has durations itself: it may prove far better.
const Candidate* Chooser::doubtful_candidate(const CallClass& call_class) const {
  const Prices prices(call_class, candidates_);
  if (rooted(candidates_.front().row->collective)) return nullptr;
  const Feedback* const of_best = prices.find(best_of(call_class).name());
  if (of_best == nullptr || !of_best->tried()) return nullptr;
  const Seconds best = price_of_best(call_class);
  const bool may_begin = may_try(call_class);
  for (const Candidate& each : candidates_) {
    const Feedback* feedback = prices.find(each.name());
    if (follows_arrivals(each) || (feedback != nullptr && feedback->tried())) continue;
    const bool program = each.row->kind != Kind::protocol;
    if (!program && prices.doubt() < kDoubt) continue;
    const std::uint64_t uses = feedback == nullptr ? 0 : feedback->uses();
    if (uses >= kMaxUses || (uses == 0 && !may_begin)) continue;
    const double doubt = program ? prices.doubt_of_programs() : kDoubt;
    if (uses > 0 || prices.of(each) < doubt * best) return &each;
  }
  return nullptr;
}

/// 0 as long as the balanced program is not judged.
Seconds Chooser::price_of_best(const CallClass& call_class) const {
  const Prices prices(call_class, candidates_);
  const bool known = candidates_.size() > 1 && prices.judged(candidates_[1]);
  return known ? prices.of(best_of(call_class)) : 0;
}

const Candidate& Chooser::best_of(const CallClass& call_class) const {
  const Prices prices(call_class, candidates_);
  const Candidate& native = candidates_.front();
  if (candidates_.size() < 2 || !prices.judged(candidates_[1])) return native;
  const auto cheaper = [&](const Candidate& a, const Candidate& b) {
    return prices.of(a) < prices.of(b);
  };
  const Candidate& best = *std::min_element(candidates_.begin(), candidates_.end(), cheaper);
  const auto is_current = [&](const Candidate& each) { return each.name() == call_class.current; };
  const auto found = std::find_if(candidates_.begin(), candidates_.end(), is_current);
  const Candidate& current = found == candidates_.end() ? native : *found;
  return prices.of(best) > kGain * prices.of(current) ? current : best;
}

std::optional<Decision> Chooser::repeat(CallClass& call_class, const Problem& problem) {
  const Repeated& last = call_class.repeated;
  if (last.plan == nullptr || call_class.calls + 1 >= last.until) return std::nullopt;
  if (last.plan->problem != problem) return std::nullopt;
  ++call_class.calls;
  ++call_class.unobserved;
  call_class.used = ++events_;
  ruled_ = nullptr;
  expected_.clear();
  skip();
  return Decision{Decision::Action::plan, last.plan, last.row, last.predicted};
}

/// After a plan was chosen: short calls repeat it until the next event.
void Chooser::repeat_decision(CallClass& call_class, const Candidate& chosen, std::uint64_t every) {
  const std::uint64_t pause =
      std::max(every - call_class.unobserved, 2 * calls_between_looks(call_class) - 1);
  const std::uint64_t until =
      next_event(call_class, Prices(call_class, candidates_).of(chosen), pause);
  if (until <= call_class.calls + 1) return;
  const bool stamped = piggybacks(*chosen.plan);
  call_class.repeated = {chosen.row, chosen.predicted,
                         stamped ? without_stamps(call_class, chosen.plan) : chosen.plan, until};
}

/// The plan without stamps, which is kept: so the ranks find again what they prepared for it.
std::shared_ptr<const Plan> Chooser::without_stamps(CallClass& call_class,
                                                    const std::shared_ptr<const Plan>& plan) {
  if (call_class.stamped != plan) {
    Plan bare = *plan;
    bare.telemetry = false;
    for (Plan& inner : bare.inner) inner.telemetry = false;
    call_class.stamped = plan;
    call_class.bare = std::make_shared<const Plan>(std::move(bare));
  }
  return call_class.bare;
}

/// After the library was chosen: sets the next event, until which calls take the shortcut. If a
/// rank is expected late and calls are long, each of them is looked at.
void Chooser::rest(CallClass& call_class, std::uint64_t every, bool observed) {
  std::uint64_t pause = every - call_class.unobserved;
  if (late(expected_)) {
    call_class.balanced_in_a_row = 0;
    pause = std::min(pause, calls_between_late_looks(call_class));
  } else if (observed) {
    ++call_class.balanced_in_a_row;
  }
  // A rule that chooses the library knows no other candidates.
  const Seconds price =
      candidates_.empty() ? 0 : Prices(call_class, candidates_).of(candidates_.front());
  call_class.next_event = next_event(call_class, price, pause);
  call_class.unobserved += call_class.next_event - call_class.calls - 1;
}

/// The number of calls from a watched call, or the end of a pair of them, to the next.
std::uint64_t Chooser::calls_between_watched(const CallClass& call_class, const Candidate& chosen,
                                             const Problem& problem, bool whole) const {
  const bool stamped = chosen.plan != nullptr && piggybacks(*chosen.plan);
  if (whole) return stamped ? kBetweenWatched : calls_between_looks(call_class);
  const Seconds price = Prices(call_class, candidates_).of(chosen);
  return stamped ? calls_between_stamps(call_class, price, *chosen.plan)
                 : calls_between_exchanges(call_class, price, problem);
}

/// The number of calls between two exchanges of arrivals, such that they cost at most kExchanging
/// of the time of these calls, and kExchangingOfMoving of that after the last arrivals.
std::uint64_t Chooser::calls_between_exchanges(const CallClass& call_class, Seconds price,
                                               const Problem& problem) const {
  if (rooted(problem.collective))
    return kRootedEvery << std::min(call_class.balanced_in_a_row, kExchangeDoublings);
  const Prices prices(call_class, candidates_);
  const Seconds call = std::max(call_class.elapsed, price);
  if (!(call > 0)) return kRootedEvery;
  const Seconds exchange =
      ceil_log2(problem.ranks) * pricer_.network().transfer(0) * prices.calibration();
  const Seconds of_moving = price > 0 ? kExchangingOfMoving * price : call;
  const Seconds may_take = std::min(kExchanging * call, of_moving);
  return 1 + static_cast<std::uint64_t>(std::min(1e6, exchange / may_take));
}

/// The number of calls from the end of a pair that carries arrival stamps to the next pair, such
/// that stamps cost at most kExchanging of the time of all calls: on each hop of the first block up
/// to one stamp of each rank.
std::uint64_t Chooser::calls_between_stamps(const CallClass& call_class, Seconds price,
                                            const Plan& plan) const {
  const Seconds call = std::max(call_class.elapsed, price);
  if (!(call > 0)) return 1;
  const Rank places = plan.placement.empty() ? ranks_ : Nodes(plan.placement, ranks_).count();
  const Seconds stamps = static_cast<Seconds>(Piggyback::kMaxBytesPerRank) * ranks_ *
                         pricer_.network().beta * ceil_log2(places);
  return 1 + static_cast<std::uint64_t>(std::min(1e6, 2 * stamps / (kExchanging * call)));
}

/// The number of the next call that is followed by an exchange, or in which another candidate than
/// the chosen one, which has this price, is tried again.
std::uint64_t Chooser::next_event(const CallClass& call_class, Seconds price,
                                  std::uint64_t every) const {
  const Prices prices(call_class, candidates_);
  std::uint64_t next = call_class.calls + every;
  if (!candidates_.empty() && compares_whole_calls(call_class, candidates_.front().row->collective))
    return next;
  for (const Candidate& each : candidates_) {
    const Feedback* feedback = prices.find(each.name());
    if (each.name() == call_class.current || feedback == nullptr || !feedback->tried()) continue;
    next = std::min(next, feedback->next(prices.of(each) / price));
  }
  return std::max(next, call_class.calls + 1);
}

}  // namespace latecomer
