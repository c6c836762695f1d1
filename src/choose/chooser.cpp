#include "choose/chooser.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "price/price.hpp"

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
    const bool left = call_class.reviewed > call_class.calls;  // to the library, by a review
    if (call_class.active && !left) call_class.next_event = 0;
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

Glance Chooser::glance(const Problem& problem) {
  if (!chooses(problem)) return {};
  if (!worth_a_class(problem)) return {nullptr, true};
  CallClass& call_class = class_of(problem);
  call_class.used = ++events_;  // none of this call's is the oldest
  return {&call_class, left_alone(call_class)};
}

CallClass& Chooser::class_of(const Problem& problem) {
  const auto [found, fresh] = classes_.try_emplace(key_of(problem));
  CallClass& call_class = found->second;
  if (!fresh) return call_class;
  call_class.key = found->first;
  call_class.used = ++events_;
  const auto learnt = classes_.find(learnt_);
  if (learnt != classes_.end() && found != learnt) {
    call_class.network = learnt->second.network;
    call_class.belief.inherit(learnt->second.belief);
  }
  begin_wisely(call_class);
  call_class.next_event = first_review(problem);
  if (classes_.size() > kMaxClasses) forget_oldest();
  return call_class;
}

CallClass* Chooser::known_class(const Problem& problem) {
  const auto found = classes_.find(key_of(problem));
  return found == classes_.end() ? nullptr : &found->second;
}

/// Rank 0 alone decides about the calls that it announces: what it knows of them must not influence
/// calls that all ranks decide about.
CallClass& Chooser::announced_class_of(const Problem& problem) {
  CallClass& all_know = class_of(problem);
  const CallKey key = all_know.key ^ kAnnounced;
  if (classes_.size() >= kMaxClasses && !classes_.contains(key)) {
    all_know.used = ++events_;
    forget_oldest();
  }
  const auto [found, fresh] = classes_.try_emplace(key);
  CallClass& call_class = found->second;
  if (!fresh) return call_class;
  call_class.key = found->first;
  call_class.used = events_;
  call_class.active = true;
  call_class.announced = true;
  if (all_know.blocks) call_class.blocks = std::make_unique<CallBlocks>();
  call_class.network = all_know.network;
  call_class.belief.inherit(all_know.belief);
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
  if (watch_) watch_->place(placement);
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

void Chooser::begin_with(const NetworkBelief& wisdom) {
  wisdom_ = {Belief::credible(wisdom.logarithms), wisdom.deviations};
  for (auto& [key, call_class] : classes_) begin_wisely(call_class);
}

void Chooser::begin_wisely(CallClass& call_class) const {
  if (!wisdom_ || !call_class.belief.empty()) return;
  call_class.network = scaled(agreed_network(), wisdom_->logarithms);
  call_class.belief.begin(wisdom_->deviations);
}

std::optional<NetworkBelief> Chooser::network_learnt() const {
  const auto found = classes_.find(learnt_);
  if (found == classes_.end() || found->second.belief.empty()) return std::nullopt;
  const CallClass& call_class = found->second;
  NetworkBelief learnt{scale_of(network_of(call_class), agreed_network()),
                       call_class.belief.deviations()};
  const NetworkParts more = call_class.belief.corrections();
  for (std::size_t part = 0; part < more.size(); ++part) learnt.logarithms[part] += more[part];
  return learnt;
}

/// Candidates, prices and beliefs were those of other plans.
void Chooser::drop_prices() {
  wisdom_.reset();
  for (auto& [key, call_class] : classes_) {
    call_class.drop_prices();
    call_class.network.reset();
    call_class.belief = {};
  }
}

void Chooser::watch_arrivals() {
  watch_ = past_watch_ ? std::move(past_watch_) : std::make_unique<Watch>(me_, ranks_);
  watch_->place(placement());
  pricer_.clear();
}

void Chooser::watch_no_more() {
  if (!watch_) return;
  watch_.reset();
  pricer_.clear();
}

const std::vector<Seconds>& Chooser::expect(const Problem& problem) {
  ++known_;
  if (std::exchange(skipped_, false)) {
    note({});
    miss();
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
void Chooser::know(Collective collective, bool announced, bool nodes, const CallClass* of) {
  const bool learnt = of != nullptr && of->network;
  const bool known = watch_ != nullptr && !policy_.reproducible;
  const std::vector<bool>* const mostly_late = known ? &watch_->mostly_late() : nullptr;
  pricer_.know(learnt ? *of->network : network_of_plans(collective), mostly_late,
               watch_ != nullptr && !rooted(collective), announced, nodes && !policy_.reproducible);
}

Decision Chooser::decide_as(const Choice& set, const Problem& problem, bool announced) try {
  if (policy_.reproducible) check_reproducible(set);
  if (seed_of(set) > 0) return decide_at_random(seed_of(set), problem, announced);
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
  const auto found = classes_.find(last_.key);
  const bool priced = chooses(problem) && ruled_ == nullptr && found != classes_.end();
  know(problem.collective, false, false, priced ? &found->second : nullptr);
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
  if (is_native(*choice.algorithm) || seed_of(choice) > 0) return nullptr;
  know(problem.collective, false);
  return pricer_.plan(choice, problem, expected_);
}

void Chooser::adopt(const Problem& problem, const Algorithm& row, Seconds predicted) {
  expected_.clear();
  if (!chooses(problem)) return note({});
  CallClass& call_class = announced_class_of(problem);
  ++call_class.calls;
  call_class.used = ++events_;
  note({call_class.key, &row, {}, predicted});
}

void Chooser::note(const Selection& selection) { before_ = std::exchange(last_, selection); }

void Chooser::miss() {
  if (!watch_) return;
  watch_->miss();
  learn(before_, std::nullopt);
  before_ = {};
}

void Chooser::learn() {
  if (!watch_) return;
  if (!before_.taken) before_.taken = watch_->taken_before();
  learn(before_, watch_->cost_before());
  before_ = {};
  last_.taken = watch_->taken();
  if (last_.row == nullptr || last_.name.empty()) return;
  const auto found = classes_.find(last_.key);
  if (found == classes_.end()) return;
  last_.waiting = waiting(watch_->last());
  last_.predicted =
      pricer_.in_hindsight(found->second, last_.name, last_.predicted, watch_->last());
}

/// What a call cost is known when the next one's arrivals are. If they stay unknown, the exit of
/// the rank that came last stands for it.
void Chooser::learn(const Selection& selection, std::optional<Seconds> cost) {
  const auto found = classes_.find(selection.key);
  if (selection.row == nullptr || selection.name.empty() || found == classes_.end()) return;
  if (!cost && !selection.taken) return;
  CallClass& call_class = found->second;
  const Collective collective = selection.row->collective;
  Seconds taken = cost ? *cost : selection.taken->on_last;
  constexpr double kWeight = 0.25;
  const Seconds elapsed = (selection.taken ? selection.taken->mean : taken) + selection.waiting;
  call_class.elapsed += kWeight * (elapsed - call_class.elapsed);
  call_class.waiting += kWeight * (selection.waiting - call_class.waiting);
  const Seconds moving = rooted(collective) ? elapsed : std::max(0.0, taken);
  call_class.moving += kWeight * (moving - call_class.moving);
  if (rooted(collective)) taken += selection.waiting;
  if (!(selection.predicted > 0) || !call_class.belief.has(selection.arm, selection.name)) return;
  if (!call_class.announced) learnt_ = selection.key;
  call_class.belief.learn(selection.arm, taken / selection.predicted, selection.first);
}

}  // namespace latecomer
