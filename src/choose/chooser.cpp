#include "choose/chooser.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/error.hpp"
#include "patterns/powers.hpp"
#include "price/rivals.hpp"

namespace latecomer {
namespace {

constexpr double kGain = 0.95;  // a better candidate's price over the current one's, at most
constexpr std::size_t kPriorWeight = 2;     // calls that must speak for an arrival-aware candidate
constexpr std::uint64_t kMaxDoublings = 7;  // times that the calls between two exchanges double
constexpr std::uint64_t kMaxUses = 12;      // uses of a candidate whose durations stay unknown

constexpr Count kLong = 65536;  // bytes: MPI libraries send no longer message before it is awaited
constexpr Seconds kConnectTime = 400e-6;  // to make CommResources, for each doubling of the ranks
constexpr Seconds kOwnStep = 5e-6;  // a program's step takes so long however fast the network is
constexpr Seconds kLook = 3e-6;     // expecting and deciding, without planning
constexpr double kBudgetShare = Chooser::kPlanning / 2;  // estimates may be too low, by up to 40 %
constexpr double kMovingTimes = 10;   // the time that pays for plans, over that of moving, at most
constexpr std::uint64_t kGrowth = 4;  // factor of the calls between reviews
constexpr double kTrialLoss = 0.02;   // part of the time of moving data that trials may lose
constexpr double kLoss = 0.01;        // part of the time of a class's calls that deciding may lose
constexpr double kDoubted = 1.1;      // prices that are off by more are not trusted
constexpr std::uint64_t kReviewed = 8;      // calls that are decided about between two reviews
constexpr std::uint64_t kFirstReview = 16;  // the first ones try what there is
constexpr std::uint64_t kMaxReviewed = 256;
// One in so many calls goes to the library, so that its durations do not get old: first, at last.
constexpr std::uint64_t kRefresh = 32;
constexpr std::uint64_t kMaxRefresh = 8192;

/// Mixes an event that all ranks know alike into the hash; the result is not 0.
void mix(StateHash& state_hash, std::uint64_t event) {
  constexpr std::uint64_t kMix = 0x9e3779b97f4a7c15U;
  const std::uint64_t mixed = (state_hash ^ event) * kMix;
  state_hash = std::max<StateHash>(1, (mixed ^ mixed >> 32) & kStateHashMask);
}

/// Returns the mean without the slowest quarter.
template <std::size_t size>
double trimmed_mean(std::array<double, size> values, std::size_t count) {
  const auto begin = values.begin();
  std::sort(begin, begin + static_cast<std::ptrdiff_t>(count));
  const std::size_t kept = count - count / 4;
  if (kept == 0) return 0;
  return std::accumulate(begin, begin + static_cast<std::ptrdiff_t>(kept), 0.0) /
         static_cast<double>(kept);
}

template <std::size_t size>
double median(std::array<double, size> values, std::size_t count) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((count - 1) / 2);
  std::nth_element(values.begin(), middle, values.begin() + static_cast<std::ptrdiff_t>(count));
  return *middle;
}

/// The calls of which one is looked at while the same is chosen, such that looking costs at most
/// kLooking of their time.
std::uint64_t calls_between_looks(const CallClass& call_class) {
  const double look = kLook / (Chooser::kLooking * std::max(call_class.elapsed, 1e-9));
  return 1 + static_cast<std::uint64_t>(look);
}

/// The calls of the library that renew all its durations, of which brief ones are timed rarely.
std::uint64_t refreshing_calls(const CallClass& call_class) {
  return Durations::kCalls * (call_class.brief ? CallClass::kTimed : 1);
}

/// The time of a call of which a share pays for plans. Plans can shorten moving only; but a class
/// in which ranks mostly wait should not have to wait long for its plans.
Seconds paying(const CallClass& call_class) {
  return std::min(call_class.elapsed, kMovingTimes * call_class.moving);
}

/// True if ranks may leave a call at different times: then the duration on the last rank to arrive,
/// which is the least, does not stand for the others.
bool leave_apart(Collective collective) { return collective != Collective::allreduce; }

}  // namespace

// --- Calls that are only watched ---

void Chooser::forget() {
  classes_.clear();
  pricer_.clear();
  last_ = before_ = {};
  spent_ = 0;
  ++version_;
}

void Chooser::expect_anew() {
  for (auto& [key, call_class] : classes_) {
    if (call_class.active) call_class.next_event = 0;
    call_class.repeated = {};
  }
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
  call_class.current = &native_row(problem.collective);
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
  call_class.budget = all_know.budget;
  return call_class;
}

void Chooser::connected(std::uint64_t link) {
  connected_ = true;
  mix(state_hash_, link);
}

/// Prices that were found for the expected arrivals may be those of plans on nodes.
void Chooser::place(const Placement& placement) {
  if (!pricer_.place(placement)) return;
  for (auto& [key, call_class] : classes_) {
    call_class.priced_count = -1;
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

void Chooser::give_up() {
  for (auto& [key, call_class] : classes_) {
    call_class.active = false;
    call_class.next_event = kGrowth * call_class.calls;
  }
}

void Chooser::forget_oldest() {
  classes_.erase(
      std::min_element(classes_.begin(), classes_.end(),
                       [](const auto& a, const auto& b) { return a.second.used < b.second.used; }));
  ++version_;
}

bool Chooser::watched(CallClass& call_class, Seconds seconds) {
  if (call_class.calls > 0 && call_class.next_is_timed()) {
    call_class.library.add(seconds);
    call_class.library_timed = call_class.calls + 1;
  }
  ++call_class.calls;
  return !call_class.active && call_class.calls >= call_class.next_event;
}

bool Chooser::measured(CallClass& call_class, Seconds library, Seconds inside) const {
  // Trials follow each other, each with an exchange of arrivals: there both are slower than later.
  // Calls that wait until a plan is affordable do not show what deciding gains.
  if (library > 0 && !last_.trial) {
    call_class.library.add(library);
    call_class.library_timed = call_class.calls;
  }
  if (!last_.first && !last_.trial) call_class.decided.add(inside);
  return call_class.active && call_class.decided.count() >= call_class.review_after;
}

void Chooser::defer(CallClass& call_class) { call_class.next_event = kGrowth * call_class.calls; }

Review Chooser::review(const CallClass& call_class, bool room) {
  Review mine;
  const auto add = [&](Reviewed by, const Durations& durations) {
    for (std::size_t ago = 0; ago < durations.size(); ++ago) {
      mine.set_call(by, ago, durations.ago(ago), durations.ago(ago));
    }
  };
  add(Reviewed::library, call_class.library);
  add(Reviewed::decided, call_class.decided);
  mine.set_room(room);
  return mine;
}

bool Chooser::reviewed(CallClass& call_class, const Problem& problem, const Review& all) {
  if (!call_class.active) return activate(call_class, problem, all);
  judge(call_class, problem.collective, all);
  return false;
}

bool Chooser::activate(CallClass& call_class, const Problem& problem, const Review& all) {
  // If all ranks leave together, the least time on a rank contains no waiting for others.
  const std::size_t count = call_class.library.size();
  std::array<double, Review::kCalls> transfer{};
  std::array<double, Review::kCalls> mean{};
  for (std::size_t ago = 0; ago < count; ++ago) {
    const Seconds min = all.min(Reviewed::library, ago);
    const Seconds max = all.max(Reviewed::library, ago);
    transfer[ago] = rooted(problem.collective) ? max : min;
    mean[ago] = (max + min) / 2;
    mix(state_hash_, std::bit_cast<std::uint64_t>(mean[ago]));
  }
  call_class.elapsed = median(mean, count);
  call_class.moving = rooted(problem.collective) ? call_class.elapsed : median(transfer, count);
  call_class.brief = call_class.elapsed < CallClass::kBrief;
  call_class.used = ++events_;
  spent_ += call_class.elapsed * static_cast<double>(call_class.calls - call_class.reviewed);
  call_class.reviewed = call_class.calls;
  const int steps = std::max(1, ceil_log2(ranks_));
  const bool room = connected_ || all.room();
  const bool may_gain = room && median(transfer, count) > kOwnStep * steps;
  const Seconds needed = connected_ ? 0 : kConnectTime * steps / kSetUp;
  if (may_gain && spent_ >= needed) {
    call_class.active = true;
    call_class.next_event = 0;
    call_class.review_after = kFirstReview;
    call_class.refresh_every = kRefresh;
    call_class.budgeted = call_class.calls;
    call_class.budget = kBudgetShare * paying(call_class) * static_cast<double>(call_class.calls);
    return true;
  }
  std::uint64_t pause = (kGrowth - 1) * call_class.calls;
  if (may_gain) {
    const double calls = (needed - spent_) / call_class.elapsed;
    pause =
        std::min(pause, std::max<std::uint64_t>(kReviewed, static_cast<std::uint64_t>(calls) + 1));
  }
  call_class.next_event = call_class.calls + pause;
  return false;
}

/// Compares the durations of calls that were decided about with those of the library's, whatever
/// the prices say. From time to time the library gets a few calls, since its durations may be old:
/// then nothing else would show that it has become faster. If deciding costs more than it gains,
/// the library gets the next calls: first a few, since its durations may be old; then so many that
/// the loss is at most kLoss of their time, and twice as many each time in a row.
void Chooser::judge(CallClass& call_class, Collective collective, const Review& all) {
  const auto usual_time = [&](Reviewed by, std::size_t count) {
    std::array<double, Review::kCalls> seconds{};
    for (std::size_t ago = 0; ago < count; ++ago) {
      const Seconds least = all.min(by, ago);
      seconds[ago] = leave_apart(collective) ? (least + all.max(by, ago)) / 2 : least;
    }
    return trimmed_mean(seconds, count);
  };
  const Seconds library = usual_time(Reviewed::library, call_class.library.size());
  const Seconds decided = usual_time(Reviewed::decided, call_class.decided.size());
  const auto reviewed = static_cast<double>(call_class.decided.count());
  call_class.decided.clear();
  mix(state_hash_, call_class.calls);
  // Calls of the library in between were not decided about, and lost nothing.
  const auto calls_since = static_cast<double>(call_class.calls - call_class.reviewed);
  call_class.reviewed = call_class.calls;
  const double share = std::min(1.0, reviewed / std::max(calls_since, 1.0));
  const double loss = library > 0 ? share * (decided / library - 1) : 0;
  if (loss <= kLoss) {
    call_class.futile_reviews = 0;
    call_class.review_after = std::min(2 * call_class.review_after, kMaxReviewed);
    const std::uint64_t few = refreshing_calls(call_class);
    if (call_class.calls - call_class.library_timed < few * call_class.refresh_every) return;
    call_class.refresh_every = std::min(kGrowth * call_class.refresh_every, kMaxRefresh);
    return leave_to_library(call_class, few);
  }
  std::uint64_t pause = refreshing_calls(call_class);
  call_class.refresh_every = kRefresh;
  if (call_class.futile_reviews > 0) {
    const double calls = std::clamp(reviewed * loss / kLoss, 1.0, 1e6);
    pause = static_cast<std::uint64_t>(calls)
            << std::min(call_class.futile_reviews - 1, kMaxDoublings);
  }
  leave_to_library(call_class, pause);
  ++call_class.futile_reviews;
}

/// The library gets the next calls; afterwards a few decided ones are reviewed.
void Chooser::leave_to_library(CallClass& call_class, std::uint64_t calls) {
  call_class.next_event = call_class.calls + 1 + calls;
  call_class.reviewed = call_class.calls + calls;
  call_class.repeated = {};
  call_class.review_after = kReviewed;
}

// --- Calls that are decided about ---

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

/// Sets the knowledge that the call at hand is planned with. In reproducible mode that is nothing
/// but the problem and the library's version. Programs of rooted collectives carry no stamps.
void Chooser::know(Collective collective, bool announced, bool nodes) {
  const Network& network = policy_.reproducible ? kReproducible : policy_.network;
  pricer_.know(network, watch_ != nullptr && !rooted(collective), announced,
               nodes && !policy_.reproducible);
}

Decision Chooser::without_nodes(const Decision& decision, const Problem& problem) try {
  const Choice choice = ruled_ != nullptr  ? *ruled_
                        : chooses(problem) ? Choice{decision.row, {}}
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

/// The prices of a class's candidates: predictions, corrected by feedback. A program without
/// feedback is corrected like the balanced one, since both rest on the same cost parameters.
class Chooser::Prices {
 public:
  explicit Prices(const CallClass& call_class) : feedback_(call_class.feedback) {
    if (const Feedback* feedback = find("fastest")) calibration_ = feedback->factor(1);
  }

  [[nodiscard]] const Feedback* find(std::string_view name) const {
    const auto found = feedback_.find(name);
    return found == feedback_.end() ? nullptr : &found->second;
  }
  [[nodiscard]] bool judged(const Algorithm& row) const {
    const Feedback* feedback = find(row.name);
    return feedback != nullptr && feedback->judged();
  }
  [[nodiscard]] double calibration() const { return calibration_; }
  /// How many times too high the price of a program without feedback may be, against the others':
  /// the less the balanced one's price agrees with what it takes, the less prices are trusted.
  [[nodiscard]] double doubt() const {
    const double off = std::max(calibration_, 1 / std::max(1e-9, calibration_));
    return off > kDoubted ? std::min(kDoubt, off) : 1;
  }
  [[nodiscard]] double factor(const Algorithm& row) const {
    const Feedback* feedback = find(row.name);
    return feedback == nullptr
               ? calibration_
               : feedback->factor(calibration_, row.arrival_aware ? kPriorWeight : 0);
  }
  [[nodiscard]] Seconds of(const Candidate& candidate) const {
    return candidate.predicted * factor(*candidate.row);
  }

 private:
  const std::map<std::string_view, Feedback>& feedback_;
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
  call_class.budget += kBudgetShare * paying(call_class) *
                       static_cast<double>(call_class.calls - call_class.budgeted);
  call_class.budgeted = call_class.calls;
  know(problem.collective, announced);
  candidates_ = pricer_.candidates(call_class, problem, expected_, Prices(call_class).doubt() > 1);
  const Candidate* const trial = trial_candidate(call_class);
  const Candidate& chosen = trial != nullptr ? *trial : best_of(call_class);
  if (trial == nullptr && call_class.current != chosen.row) {
    call_class.current = chosen.row;
    call_class.feedback[chosen.row->name].confirm();
  }
  Decision decision{.plan = chosen.plan, .row = chosen.row, .predicted = chosen.predicted};
  if (chosen.plan) decision.action = Decision::Action::plan;
  const bool library_so_far = call_class.feedback.empty();
  Feedback& feedback = call_class.feedback[chosen.row->name];
  note({call_class.key, chosen.row, chosen.predicted, feedback.uses() == 0 && !library_so_far,
        trial != nullptr || candidates_.size() < 2,
        trial != nullptr ? price_of_best(call_class) : 0});
  feedback.use(call_class.calls);
  const Seconds price = Prices(call_class).of(chosen);
  const bool stamped = chosen.plan != nullptr && piggybacks(*chosen.plan);
  const std::uint64_t every = trial != nullptr ? 1
                              : stamped ? calls_between_stamps(call_class, price, *chosen.plan)
                                        : calls_between_exchanges(call_class, price, problem);
  // Stamps of one call bring the exits of the one before: a plan's calls are watched in pairs.
  decision.exchange_arrivals = call_class.exits_due || call_class.unobserved + 1 >= every;
  call_class.exits_due = stamped && decision.exchange_arrivals && !call_class.exits_due;
  if (stamped && !decision.exchange_arrivals)
    decision.plan = without_stamps(call_class, chosen.plan);
  call_class.unobserved = decision.exchange_arrivals ? 0 : call_class.unobserved + 1;
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

/// After a plan was chosen: short calls repeat it until the next event.
void Chooser::repeat_decision(CallClass& call_class, const Candidate& chosen, std::uint64_t every) {
  const std::uint64_t pause =
      std::max(every - call_class.unobserved, 2 * calls_between_looks(call_class) - 1);
  const std::uint64_t until = next_event(call_class, Prices(call_class).of(chosen), pause);
  if (until <= call_class.calls + 1) return;
  const bool stamped = piggybacks(*chosen.plan);
  call_class.repeated = {chosen.row, chosen.predicted,
                         stamped ? without_stamps(call_class, chosen.plan) : chosen.plan, until};
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

/// After the library was chosen: sets the next event, until which calls take the shortcut. If a
/// rank is expected late and calls are long, each of them is looked at.
void Chooser::rest(CallClass& call_class, std::uint64_t every, bool observed) {
  std::uint64_t pause = every - call_class.unobserved;
  if (late(expected_)) {
    call_class.balanced_in_a_row = 0;
    pause = std::min(pause, calls_between_looks(call_class));
  } else if (observed) {
    ++call_class.balanced_in_a_row;
  }
  // A rule that chooses the library knows no other candidates.
  const Seconds price = candidates_.empty() ? 0 : Prices(call_class).of(candidates_.front());
  call_class.next_event = next_event(call_class, price, pause);
  call_class.unobserved += call_class.next_event - call_class.calls - 1;
}

void Chooser::adopt(const Problem& problem, const Algorithm& row, Seconds predicted) {
  expected_.clear();
  if (!chooses(problem)) return note({});
  CallClass& call_class = announced_class_of(problem);
  ++call_class.calls;
  call_class.used = ++events_;
  Feedback& feedback = call_class.feedback[row.name];
  note({call_class.key, &row, predicted, feedback.uses() == 0});
  feedback.use(call_class.calls);
}

/// Returns a candidate to try: first the library's collective and the best balanced program, until
/// both have enough feedback; then those whose price may be too high; later one that was not used
/// for long. Null: none.
const Candidate* Chooser::trial_candidate(CallClass& call_class) const {
  if (candidates_.size() < 2) return nullptr;
  const Prices prices(call_class);
  const auto uses = [&](const Candidate& candidate) {
    const Feedback* feedback = prices.find(candidate.row->name);
    return feedback == nullptr ? 0 : feedback->uses();
  };
  for (const Candidate* each : {&candidates_[0], &candidates_[1]}) {
    if (!prices.judged(*each->row) && uses(*each) < kMaxUses) return each;
  }
  if (const Candidate* const doubtful = doubtful_candidate(call_class)) return doubtful;
  const Candidate& best = best_of(call_class);
  for (const Candidate& other : candidates_) {
    const auto feedback = call_class.feedback.find(other.row->name);
    if (other.row == best.row || feedback == call_class.feedback.end() || !feedback->second.known())
      continue;
    if (!feedback->second.due(call_class.calls, prices.of(other) / prices.of(best))) continue;
    feedback->second.renew();
    return &other;
  }
  return nullptr;
}

/// Returns a candidate without feedback that would be the best one if its price were too high by as
/// much as is in doubt. Estimates of arrivals are no part of these prices. The time of a protocol
/// differs from call to call, so a small doubt is no reason to try one. A trial begins only if the
/// earlier ones have not lost too much.
const Candidate* Chooser::doubtful_candidate(const CallClass& call_class) const {
  const Prices prices(call_class);
  if (rooted(candidates_.front().row->collective)) return nullptr;
  const Seconds best = price_of_best(call_class);
  const bool may_begin =
      call_class.lost <= kTrialLoss * call_class.moving * static_cast<double>(call_class.calls);
  for (const Candidate& each : candidates_) {
    const Feedback* feedback = prices.find(each.row->name);
    if (each.row->arrival_aware || (feedback != nullptr && feedback->known())) continue;
    if (each.row->kind == Kind::protocol && prices.doubt() < kDoubt) continue;
    const std::uint64_t uses = feedback == nullptr ? 0 : feedback->uses();
    if (uses >= kMaxUses || (uses == 0 && !may_begin)) continue;
    if (prices.of(each) < prices.doubt() * best) return &each;
  }
  return nullptr;
}

/// 0 as long as the balanced program is not judged.
Seconds Chooser::price_of_best(const CallClass& call_class) const {
  const Prices prices(call_class);
  const bool known = candidates_.size() > 1 && prices.judged(*candidates_[1].row);
  return known ? prices.of(best_of(call_class)) : 0;
}

const Candidate& Chooser::best_of(const CallClass& call_class) const {
  const Prices prices(call_class);
  const Candidate& native = candidates_.front();
  if (candidates_.size() < 2 || !prices.judged(*candidates_[1].row)) return native;
  const auto cheaper = [&](const Candidate& a, const Candidate& b) {
    return prices.of(a) < prices.of(b);
  };
  const Candidate& best = *std::min_element(candidates_.begin(), candidates_.end(), cheaper);
  const auto is_current = [&](const Candidate& each) { return each.row == call_class.current; };
  const auto found = std::find_if(candidates_.begin(), candidates_.end(), is_current);
  const Candidate& current = found == candidates_.end() ? native : *found;
  return prices.of(best) > kGain * prices.of(current) ? current : best;
}

/// The number of calls between two exchanges of arrivals, such that they cost at most kExchanging
/// of the time of these calls.
std::uint64_t Chooser::calls_between_exchanges(const CallClass& call_class, Seconds price,
                                               const Problem& problem) const {
  if (rooted(problem.collective))
    return kRootedEvery << std::min(call_class.balanced_in_a_row, kMaxDoublings);
  const Prices prices(call_class);
  const Seconds call = std::max(call_class.elapsed, price);
  if (!(call > 0)) return kRootedEvery;
  const Seconds exchange =
      ceil_log2(problem.ranks) * pricer_.network().transfer(0) * prices.calibration();
  return 1 + static_cast<std::uint64_t>(std::min(1e6, exchange / (kExchanging * call)));
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
  const Prices prices(call_class);
  std::uint64_t next = call_class.calls + every;
  for (const Candidate& each : candidates_) {
    const Feedback* feedback = prices.find(each.row->name);
    if (each.row == call_class.current || feedback == nullptr || !feedback->known()) continue;
    next = std::min(next, feedback->next(prices.of(each) / price));
  }
  return std::max(next, call_class.calls + 1);
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
void Chooser::learn(Selection& selection, std::optional<Seconds> taken,
                    const std::vector<Seconds>& arrivals) {
  if (selection.row == nullptr) return;
  const auto found = classes_.find(selection.key);
  if (found == classes_.end()) return;
  CallClass& call_class = found->second;
  if (!rooted(selection.row->collective) && !arrivals.empty()) {
    selection.predicted =
        pricer_.in_hindsight(call_class, *selection.row, selection.predicted, arrivals);
  }
  if (!taken) return;
  if (selection.best > 0) call_class.lost += std::max(0.0, *taken - selection.best);
  constexpr double kWeight = 0.25;
  const Seconds elapsed = *taken + waiting(arrivals);
  call_class.elapsed += kWeight * (elapsed - call_class.elapsed);
  const Seconds moving = rooted(selection.row->collective) ? elapsed : std::max(0.0, *taken);
  call_class.moving += kWeight * (moving - call_class.moving);
  Seconds predicted = selection.predicted;
  if (rooted(selection.row->collective)) {
    if (arrivals.empty()) return;
    predicted = pricer_.in_hindsight(call_class, *selection.row, predicted, arrivals);
    *taken += waiting(arrivals);
  }
  if (!(predicted > 0) || selection.first) return;
  call_class.feedback[selection.row->name].learn(*taken / predicted);
}

}  // namespace latecomer
