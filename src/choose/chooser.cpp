#include "choose/chooser.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "price/on_nodes.hpp"

namespace latecomer {
namespace {

constexpr Count kLong = 65536;  // bytes: MPI libraries send no longer message before it is awaited

}  // namespace

void Chooser::forget() {
  classes_.clear();
  pricer_.clear();
  last_ = before_ = {};
  spent_ = 0;
  ++version_;
}

void Chooser::forget_oldest() {
  classes_.erase(
      std::min_element(classes_.begin(), classes_.end(),
                       [](const auto& a, const auto& b) { return a.second.used < b.second.used; }));
  ++version_;
}

void Chooser::expect_anew() {
  for (auto& [key, call_class] : classes_) {
    if (call_class.active) call_class.next_event = 0;
    call_class.repeated = {};
  }
}

void Chooser::take_over(Chooser&& other) {
  const std::uint64_t version = version_ + other.version_ + 1;
  *this = std::move(other);
  version_ = version;
  skip();
}

void Chooser::take_over_watch(Chooser&& other) {
  past_watch_ = std::move(other.watch_);
  if (past_watch_) past_watch_->miss();
}

/// Short messages leave before their receiver comes, and where a collective is one message, all
/// algorithms are alike.
bool Chooser::worth_a_class(const Problem& problem) {
  if (!rooted(problem.collective)) return true;
  return problem.ranks > 2 && problem.bytes() >= kLong;
}

CallClass& Chooser::class_of(const Problem& problem) {
  const auto [found, fresh] = classes_.try_emplace(key_of(problem));
  CallClass& call_class = found->second;
  if (!fresh) return call_class;
  call_class.key = found->first;
  call_class.used = ++events_;
  call_class.current = native_row(problem.collective).name;
  // A first call is often a slow one. Classes of long calls are looked at from the second call on.
  call_class.next_event = problem.bytes() >= kLong && !rooted(problem.collective) ? 2 : 8;
  if (classes_.size() > kMaxClasses) forget_oldest();
  return call_class;
}

/// Rank 0 alone decides about the calls that it announces: what it knows of them must not influence
/// calls that all ranks decide about.
CallClass& Chooser::announced_class_of(const Problem& problem) {
  constexpr CallKey kAnnounced = 0x5851f42d4c957f2dU;
  const CallClass& all_know = class_of(problem);
  const auto [found, fresh] = classes_.try_emplace(all_know.key ^ kAnnounced);
  CallClass& call_class = found->second;
  if (!fresh) return call_class;
  call_class.key = found->first;
  call_class.used = events_;
  call_class.active = true;
  call_class.current = all_know.current;
  call_class.calls = call_class.budgeted = all_know.calls;
  call_class.elapsed = all_know.elapsed;
  call_class.moving = all_know.moving;
  call_class.waiting = all_know.waiting;
  call_class.budget = all_know.budget;
  return call_class;
}

void Chooser::connected(std::uint64_t link) {
  connected_ = true;
  mix(state_hash_, link);
}

void Chooser::place(const Placement& placement) {
  if (!pricer_.place(placement)) return;
  one_node_ = !placement.empty() && Nodes(placement, ranks_).count() == 1;
  drop_prices();
}

void Chooser::agree_on_network() {
  if (agreed_ == policy_.network) return;
  const bool anew = agreed_.has_value();
  agreed_ = policy_.network;
  if (anew) drop_prices();
}

/// Before ranks have compared anything, no call needs that they agree.
const Network& Chooser::agreed_network() const {
  if (policy_.reproducible) return kReproducible;
  return agreed_ ? *agreed_ : policy_.network;
}

/// Candidates, prices and feedback were those of other plans.
void Chooser::drop_prices() {
  for (auto& [key, call_class] : classes_) {
    call_class.priced_count = -1;
    call_class.repeated = {};
    call_class.knows_rivals = false;
    call_class.rivals.clear();
    call_class.arrival_independent.clear();
    call_class.recent_prices.clear();
    call_class.feedback.clear();
  }
}

void Chooser::watch_arrivals() {
  watch_ = past_watch_ ? std::move(past_watch_) : std::make_unique<Watch>(me_, ranks_);
  pricer_.clear();
}

void Chooser::watch_no_more() {
  if (!watch_) return;
  watch_.reset();
  pricer_.clear();
}

const std::vector<Seconds>& Chooser::expect(const Problem& problem) {
  if (std::exchange(skipped_, false)) {
    miss();
    note({});
  }
  expected_.clear();
  if (watch_ && policy_.online) {
    const std::vector<Seconds>& shown = watch_->expect(problem);
    if (!policy_.reproducible) expected_ = shown;
    return expected_;
  }
  if (watch_) watch_->enter_class(problem);
  if (!policy_.reproducible) expected_ = policy_.given;
  return expected_;
}

/// One rank may set the network before the others do, but automatic choice must be the same on all.
const Network& Chooser::network_of_plans(Collective collective) const {
  const bool agreed = policy_.reproducible || policy_.automatic(collective);
  return agreed ? agreed_network() : policy_.network;
}

/// Sets the knowledge that the call at hand is planned with. In reproducible mode that is nothing
/// but the problem and the library's version. Programs of rooted collectives carry no stamps.
void Chooser::know(Collective collective, bool announced, bool nodes) {
  pricer_.know(network_of_plans(collective), watch_ != nullptr && !rooted(collective), announced,
               nodes && !policy_.reproducible);
}

Decision Chooser::decide_as(const Choice& set, const Problem& problem, bool announced) try {
  Decision decision{.row = set.algorithm};
  std::uint64_t& calls = announced ? announced_rooted_calls_ : rooted_calls_;
  decision.exchange_arrivals = !rooted(problem.collective) || calls++ % kRootedEvery == 0;
  note({});
  if (is_native(*set.algorithm)) return decision;
  if (policy_.reproducible && combines(problem.collective) &&
      set.algorithm->kind == Kind::protocol) {
    throw Error("algorithm in reproducible mode", std::string(set.algorithm->name),
                "one whose order of combining does not follow the arrivals");
  }
  know(problem.collective, announced);
  decision.plan = pricer_.plan(set, problem, expected_);
  decision.action = Decision::Action::plan;
  return decision;
} catch (const Error& error) {
  Decision decision{.action = Decision::Action::refused};
  decision.why = error.what();
  return decision;
}

Decision Chooser::without_nodes(const Decision& decision, const Problem& problem) try {
  // A rival, or a plan for late ranks, keeps its program; `fastest` compares anew.
  const bool by_name = decision.row->name == decision.plan->algorithm;
  const Choice choice =
      ruled_ != nullptr  ? *ruled_
      : chooses(problem) ? Choice{decision.row, by_name ? same_among(*decision.plan) : Parameters{}}
                         : policy_.choice(problem.collective);
  know(problem.collective, false, false);
  Decision other = decision;
  other.plan = pricer_.plan(choice, problem, expected_);
  return other;
} catch (const Error& error) {
  Decision refused{.action = Decision::Action::refused};
  refused.why = error.what();
  return refused;
}

std::shared_ptr<const Plan> Chooser::likely_plan(const Problem& problem) {
  if (chooses(problem)) return nullptr;
  expected_.clear();
  if (!policy_.reproducible) expected_ = policy_.given;
  const UserRule* const rule = rule_for(problem, expected_);
  const Choice& choice = rule != nullptr ? rule->choice : policy_.choice(problem.collective);
  if (is_native(*choice.algorithm)) return nullptr;
  know(problem.collective, false);
  return pricer_.plan(choice, problem, expected_);
}

void Chooser::adopt(const Problem& problem, const Algorithm& row, Seconds predicted) {
  expected_.clear();
  if (!chooses(problem)) return note({});
  CallClass& call_class = announced_class_of(problem);
  ++call_class.calls;
  call_class.used = ++events_;
  Feedback& feedback = call_class.feedback[row.name];
  note({call_class.key, &row, row.name, predicted, feedback.uses() == 0});
  feedback.use(call_class.calls);
}

void Chooser::note(const Selection& selection) { before_ = std::exchange(last_, selection); }

void Chooser::miss() {
  if (watch_) watch_->miss();
}

void Chooser::learn() {
  if (!watch_) return;
  learn(before_, watch_->taken_before(), {});
  learn(last_, watch_->taken(), watch_->last());
}

/// The duration of a call of which all ranks leave after the last arrival may be known only after
/// the next call: until then its selection keeps the price for its arrivals.
void Chooser::learn(Selection& selection, std::optional<Taken> known,
                    const std::vector<Seconds>& arrivals) {
  if (selection.row == nullptr) return;
  const auto found = classes_.find(selection.key);
  if (found == classes_.end()) return;
  CallClass& call_class = found->second;
  const Collective collective = selection.row->collective;
  if (!arrivals.empty()) {
    selection.waiting = waiting(arrivals);
    if (!rooted(collective)) {
      selection.predicted =
          pricer_.in_hindsight(call_class, selection.name, selection.predicted, arrivals);
    }
  }
  if (!known) return;
  Seconds taken = takes_mean_time(collective) ? known->mean : known->on_last;
  if (selection.best > 0) call_class.lost += std::max(0.0, taken - selection.best);
  constexpr double kWeight = 0.25;
  const Seconds elapsed = known->mean + selection.waiting;
  call_class.elapsed += kWeight * (elapsed - call_class.elapsed);
  call_class.waiting += kWeight * (selection.waiting - call_class.waiting);
  const Seconds moving = rooted(collective) ? elapsed : std::max(0.0, taken);
  call_class.moving += kWeight * (moving - call_class.moving);
  Seconds predicted = selection.predicted;
  if (rooted(collective)) {
    if (arrivals.empty()) return;
    predicted = pricer_.in_hindsight(call_class, selection.name, predicted, arrivals);
    taken += selection.waiting;
  }
  if (!(predicted > 0) || selection.first) return;
  call_class.feedback[selection.name].learn(taken / predicted, known->on_all / predicted);
}

}  // namespace latecomer
