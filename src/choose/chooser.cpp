#include "choose/chooser.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <utility>

#include "algorithms/planning_cost.hpp"
#include "base/error.hpp"
#include "patterns/powers.hpp"

namespace latecomer {
namespace {

constexpr double kGain = 0.95;      // another candidate must be so much better than the current
constexpr double kNoWorse = 1.5;    // than the best program may a protocol be in balance
constexpr std::size_t kDoubts = 2;  // of bad luck with an arrival-aware candidate
constexpr std::size_t kLately = 5;  // calls whose arrivals stand for the next one's
constexpr std::uint64_t kMostDoublings = 7;  // of the calls between two that are told of
constexpr std::uint64_t kMostUses = 12;      // of a candidate of which nothing becomes known

constexpr Count kLong = 65536;  // bytes: MPI libraries send no longer message before it is awaited
constexpr Seconds kConnectTime = 400e-6;          // of a link, for each doubling of the ranks
constexpr Seconds kOwnStep = 5e-6;                // of a program's step, however fast the network
constexpr Seconds kLook = 3e-6;                   // expecting and deciding, without planning
constexpr double kPaid = Chooser::kPlanning / 2;  // estimates may be too low, by up to 40 %
constexpr std::uint64_t kGrowth = 4;              // of the calls between reviews
constexpr double kLoss = 0.01;                    // by deciding, of the time of a class's calls
constexpr std::uint64_t kReviewed = 8;      // calls that are decided about between two reviews
constexpr std::uint64_t kFirstReview = 16;  // the first ones try what there is
constexpr std::uint64_t kMostReviewed = 256;

bool is_native(const Algorithm& row) { return row.kind == Kind::native; }

/// The rows that every choice looks at, found once.
const Algorithm& row_of(Collective collective, std::string_view name) {
  using Rows = std::array<const Algorithm*, kCollectives>;
  const auto find = [](std::string_view each) {
    Rows rows{};
    for (const Collective of : all_collectives()) {
      rows[static_cast<std::size_t>(of)] = &find_algorithm(of, each);
    }
    return rows;
  };
  static const Rows fastest = find("fastest");
  static const Rows native = find("native");
  return *(name == "fastest" ? fastest : native)[static_cast<std::size_t>(collective)];
}

bool late(const std::vector<Seconds>& arrivals) {
  if (arrivals.empty()) return false;
  const auto [first, last] = std::minmax_element(arrivals.begin(), arrivals.end());
  return *last > *first;
}

/// How long ranks wait for the last one to arrive, on average.
Seconds waiting(const std::vector<Seconds>& arrivals) {
  if (arrivals.empty()) return 0;
  const Seconds sum = std::accumulate(arrivals.begin(), arrivals.end(), 0.0);
  return *std::max_element(arrivals.begin(), arrivals.end()) -
         sum / static_cast<double>(arrivals.size());
}

/// In a rooted collective ranks may be gone before the last one arrives: counted from then on the
/// mean may be negative, and what one algorithm takes no multiple of what another takes.
Seconds as_price(Seconds after_last, Collective collective, const std::vector<Seconds>& arrivals) {
  return rooted(collective) ? after_last + waiting(arrivals) : after_last;
}

/// Mixes in what all ranks know alike; the result is not 0.
void descend(Lineage& lineage, std::uint64_t event) {
  constexpr std::uint64_t kMix = 0x9e3779b97f4a7c15U;
  const std::uint64_t mixed = (lineage ^ event) * kMix;
  lineage = std::max<Lineage>(1, (mixed ^ mixed >> 32) & kLineages);
}

/// Without the slowest quarter.
template <std::size_t size>
double mean_of_usual(std::array<double, size> values, std::size_t count) {
  const auto begin = values.begin();
  std::sort(begin, begin + static_cast<std::ptrdiff_t>(count));
  const std::size_t usual = count - count / 4;
  if (usual == 0) return 0;
  return std::accumulate(begin, begin + static_cast<std::ptrdiff_t>(usual), 0.0) /
         static_cast<double>(usual);
}

template <std::size_t size>
double median(std::array<double, size> values, std::size_t count) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((count - 1) / 2);
  std::nth_element(values.begin(), middle, values.begin() + static_cast<std::ptrdiff_t>(count));
  return *middle;
}

}  // namespace

// --- Calls that are only watched ---

void Chooser::forget() {
  classes_.clear();
  plans_.clear();
  announced_plans_.clear();
  last_ = before_ = {};
  spent_ = 0;
  ++version_;
}

void Chooser::expect_anew() {
  for (auto& [key, of] : classes_) {
    if (of.active) of.next_event = 0;
  }
}

/// Short messages leave before anybody waits for them; and where one message is all, every
/// algorithm is alike.
bool Chooser::worth_a_class(const Problem& problem) {
  if (!rooted(problem.collective)) return true;
  return problem.ranks > 2 && problem.bytes() >= kLong;
}

CallClass& Chooser::class_of(const Problem& problem) {
  const auto [found, fresh] = classes_.try_emplace(call_class(problem));
  CallClass& of = found->second;
  if (!fresh) return of;
  of.key = found->first;
  of.used = ++events_;
  of.current = &row_of(problem.collective, "native");
  // A first call is often a slow one. Of long calls the second one is looked at already.
  of.next_event = problem.bytes() >= kLong && !rooted(problem.collective) ? 2 : 8;
  if (classes_.size() > kMostClasses) forget_oldest();
  return of;
}

/// Of calls that rank 0 announces, it alone decides: what it knows of them must not decide about
/// calls that all ranks decide about.
CallClass& Chooser::announced_class_of(const Problem& problem) {
  constexpr CallKey kAnnounced = 0x5851f42d4c957f2dU;
  const CallClass& all_know = class_of(problem);
  const auto [found, fresh] = classes_.try_emplace(call_class(problem) ^ kAnnounced);
  CallClass& of = found->second;
  if (!fresh) return of;
  of.key = found->first;
  of.used = events_;
  of.active = true;
  of.current = all_know.current;
  of.calls = of.accounted = all_know.calls;
  of.elapsed = all_know.elapsed;
  of.account = all_know.account;
  return of;
}

void Chooser::connected(std::uint64_t link) {
  connected_ = true;
  descend(lineage_, link);
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
  for (auto& [key, of] : classes_) {
    of.active = false;
    of.next_event = kGrowth * of.calls;
  }
}

void Chooser::forget_oldest() {
  classes_.erase(
      std::min_element(classes_.begin(), classes_.end(),
                       [](const auto& a, const auto& b) { return a.second.used < b.second.used; }));
  ++version_;
}

bool Chooser::watched(CallClass& of, Seconds seconds) {
  if (of.calls > 0 && of.next_is_timed()) of.library.add(seconds);
  ++of.calls;
  return !of.active && of.calls >= of.next_event;
}

bool Chooser::served(CallClass& of, Seconds library, Seconds inside) const {
  if (library > 0) of.library.add(library);
  if (!last_.first) of.decided.add(inside);
  return of.active && of.decided.count() >= of.review_after;
}

Review Chooser::review(const CallClass& of, bool room) {
  Review mine;
  const auto add = [&](Reviewed by, const Durations& durations) {
    for (std::size_t ago = 0; ago < durations.size(); ++ago) {
      mine.set_call(by, ago, durations.ago(ago), durations.ago(ago));
    }
  };
  add(Reviewed::library, of.library);
  add(Reviewed::decided, of.decided);
  mine.set_room(room);
  return mine;
}

bool Chooser::reviewed(CallClass& of, const Problem& problem, const Review& all) {
  if (!of.active) return activate(of, problem, all);
  judge(of, problem.collective, all);
  return false;
}

bool Chooser::activate(CallClass& of, const Problem& problem, const Review& all) {
  // Where ranks leave together, what one waited for others is no part of the least.
  const std::size_t count = of.library.size();
  std::array<double, Review::kCalls> transfer{};
  std::array<double, Review::kCalls> mean{};
  for (std::size_t ago = 0; ago < count; ++ago) {
    const Seconds least = all.least(Reviewed::library, ago);
    const Seconds most = all.most(Reviewed::library, ago);
    transfer[ago] = rooted(problem.collective) ? most : least;
    mean[ago] = (most + least) / 2;
    descend(lineage_, std::bit_cast<std::uint64_t>(mean[ago]));
  }
  of.elapsed = median(mean, count);
  of.brief = of.elapsed < CallClass::kBrief;
  of.used = ++events_;
  spent_ += of.elapsed * static_cast<double>(of.calls - of.reviewed);
  of.reviewed = of.calls;
  const int steps = std::max(1, ceil_log2(ranks_));
  const bool room = connected_ || all.room();
  const bool may_gain = room && median(transfer, count) > kOwnStep * steps;
  const Seconds needed = connected_ ? 0 : kConnectTime * steps / kSetUp;
  if (may_gain && spent_ >= needed) {
    of.active = true;
    of.next_event = 0;
    of.review_after = kFirstReview;
    of.accounted = of.calls;
    of.account = kPaid * of.elapsed * static_cast<double>(of.calls);
    return true;
  }
  std::uint64_t pause = (kGrowth - 1) * of.calls;
  if (may_gain) {
    const double calls = (needed - spent_) / of.elapsed;
    pause =
        std::min(pause, std::max<std::uint64_t>(kReviewed, static_cast<std::uint64_t>(calls) + 1));
  }
  of.next_event = of.calls + pause;
  return false;
}

/// Whatever the prices say, deciding must not be dearer than leaving the calls to the library, with
/// all that it takes. Where it is, the library has the next calls: first a few, since what is known
/// of it may be old; then so many that the loss is at most kLoss of their time, and twice as many
/// each time in a row.
void Chooser::judge(CallClass& of, Collective collective, const Review& all) {
  const auto usual = [&](Reviewed by, std::size_t count) {
    std::array<double, Review::kCalls> seconds{};
    for (std::size_t ago = 0; ago < count; ++ago) {
      seconds[ago] =
          rooted(collective) ? (all.least(by, ago) + all.most(by, ago)) / 2 : all.least(by, ago);
    }
    return mean_of_usual(seconds, count);
  };
  const Seconds library = usual(Reviewed::library, of.library.size());
  const Seconds decided = usual(Reviewed::decided, of.decided.size());
  const auto reviewed = static_cast<double>(of.decided.count());
  of.decided.clear();
  descend(lineage_, of.calls);
  const double loss = library > 0 ? decided / library - 1 : 0;
  if (loss <= kLoss) {
    of.vain = 0;
    of.review_after = std::min(2 * of.review_after, kMostReviewed);
    return;
  }
  std::uint64_t pause = Durations::kCalls;
  if (of.vain > 0) {
    const double calls = std::clamp(reviewed * loss / kLoss, 1.0, 1e6);
    pause = static_cast<std::uint64_t>(calls) << std::min(of.vain - 1, kMostDoublings);
  }
  of.next_event = of.calls + 1 + pause;
  of.review_after = kReviewed;
  ++of.vain;
}

// --- Calls that are decided about ---

void Chooser::watch_arrivals() {
  watch_ = past_watch_ ? std::move(past_watch_) : std::make_unique<Watch>(me_, ranks_);
  plans_.clear();
}

void Chooser::watch_no_more() {
  if (!watch_) return;
  watch_.reset();
  plans_.clear();
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

/// What the call at hand is planned with. In reproducible mode nothing but the problem and the
/// library's version is known. Programs of rooted collectives tell nobody.
void Chooser::know(Collective collective, bool announced) {
  known_.network = policy_.reproducible ? with_handshake({}) : policy_.network;
  known_.telemetry = watch_ != nullptr && !rooted(collective);
  known_.background = announced;
  known_.arrivals = expected_;
}

Decision Chooser::decide_as_set(const Problem& problem, bool announced) try {
  const Choice& set = policy_.choice(problem.collective);
  Decision decision{.row = set.algorithm};
  std::uint64_t& calls = announced ? announced_rooted_calls_ : rooted_calls_;
  decision.exchange_arrivals = !rooted(problem.collective) || calls++ % kRootedEvery == 0;
  note({});
  if (is_native(*set.algorithm)) return decision;
  know(problem.collective, announced);
  decision.plan = plans_for_call().get(set, problem, known_).plan;
  decision.action = Decision::Action::plan;
  return decision;
} catch (const Error& error) {
  Decision decision{.action = Decision::Action::refused};
  decision.why = error.what();
  return decision;
}

std::shared_ptr<const Plan> Chooser::likely_plan(const Problem& problem) {
  if (policy_.chooses(problem.collective)) return nullptr;
  expected_.clear();
  if (!policy_.reproducible) expected_ = policy_.given;
  know(problem.collective, false);
  return plans_.get(policy_.choice(problem.collective), problem, known_).plan;
}

/// Programs that nobody has tried yet take as many times their prediction as the balanced one: the
/// network's costs are the same, and maybe wrong.
class Chooser::Prices {
 public:
  explicit Prices(const CallClass& of) : tracks_(of.tracks) {
    if (const Track* track = find("fastest")) usual_ = track->factor(1);
  }

  [[nodiscard]] const Track* find(std::string_view name) const {
    const auto found = tracks_.find(name);
    return found == tracks_.end() ? nullptr : &found->second;
  }
  [[nodiscard]] bool judged(const Algorithm& row) const {
    const Track* track = find(row.name);
    return track != nullptr && track->judged();
  }
  [[nodiscard]] double usual() const { return usual_; }
  [[nodiscard]] double factor(const Algorithm& row) const {
    const Track* track = find(row.name);
    return track == nullptr ? usual_ : track->factor(usual_, row.arrival_aware ? kDoubts : 0);
  }
  [[nodiscard]] Seconds of(const Candidate& candidate) const {
    return candidate.predicted * factor(*candidate.row);
  }

 private:
  const std::map<std::string_view, Track>& tracks_;
  double usual_ = 1;
};

Decision Chooser::decide(const Problem& problem, bool announced) {
  if (!policy_.chooses(problem.collective)) return decide_as_set(problem, announced);
  CallClass& of = announced ? announced_class_of(problem) : class_of(problem);
  ++of.calls;
  of.used = ++events_;
  of.account += kPaid * of.elapsed * static_cast<double>(of.calls - of.accounted);
  of.accounted = of.calls;
  collect(of, problem, announced);
  const Candidate* const trial = to_try(of);
  const Candidate& chosen = trial != nullptr ? *trial : best_of(of);
  if (trial == nullptr && of.current != chosen.row) {
    of.current = chosen.row;
    of.tracks[chosen.row->name].confirm();
  }
  Decision decision{.plan = chosen.plan, .row = chosen.row, .predicted = chosen.predicted};
  if (chosen.plan) decision.action = Decision::Action::plan;
  const bool library_so_far = of.tracks.empty();
  Track& track = of.tracks[chosen.row->name];
  note({of.key, chosen.row, chosen.predicted, track.uses() == 0 && !library_so_far});
  track.use(of.calls);
  const std::uint64_t every = trial != nullptr ? 1 : calls_between_exchanges(of, chosen, problem);
  decision.exchange_arrivals = of.unobserved + 1 >= every;
  of.unobserved = decision.exchange_arrivals ? 0 : of.unobserved + 1;
  of.next_event = 0;
  if (trial == nullptr && is_native(*chosen.row)) {
    rest(of, every, decision.exchange_arrivals);
  } else if (trial == nullptr) {
    of.balanced_in_a_row = 0;
  }
  return decision;
}

/// The library's collective was chosen: until the next event calls take the shortcut. Where
/// somebody is expected late a look is worth it in each call that is long beside it.
void Chooser::rest(CallClass& of, std::uint64_t every, bool observed) {
  std::uint64_t pause = every - of.unobserved;
  if (late(expected_)) {
    of.balanced_in_a_row = 0;
    const double look = kLook / (kLooking * std::max(of.elapsed, 1e-9));
    pause = std::min(pause, 1 + static_cast<std::uint64_t>(look));
  } else if (observed) {
    ++of.balanced_in_a_row;
  }
  of.next_event = next_event(of, pause);
  of.unobserved += of.next_event - of.calls - 1;
}

void Chooser::adopt(const Problem& problem, const Algorithm& row, Seconds predicted) {
  expected_.clear();
  if (!policy_.chooses(problem.collective)) return note({});
  CallClass& of = announced_class_of(problem);
  ++of.calls;
  of.used = ++events_;
  Track& track = of.tracks[row.name];
  note({of.key, &row, predicted, track.uses() == 0});
  track.use(of.calls);
}

/// The plan of a row, if it is there or the calls have paid for making it.
const CachedPlan* Chooser::plan_if_paid(CallClass& of, const Algorithm& row,
                                        const Problem& problem) {
  const Choice choice{&row, {}};
  if (const CachedPlan* const found = plans_for_call().find(choice, problem, known_)) return found;
  const Seconds cost = planning_cost(row, problem, known_.network);
  if (of.account < cost || !accepts(row, problem, nullptr)) return nullptr;
  of.account -= cost;
  return &plans_for_call().get(choice, problem, known_);
}

/// The candidates of a call: the MPI library's collective, which is expected to do as well as the
/// best balanced program; that program; protocols; and where somebody is expected late the
/// arrival-aware rows. Only the first one where the calls have not paid for more.
void Chooser::collect(CallClass& of, const Problem& problem, bool announced) {
  candidates_.clear();
  candidates_.push_back({&row_of(problem.collective, "native"), 0, nullptr});
  collect_steady(of, problem, announced);
  if (of.steady.empty()) return;
  if (late(expected_)) price(of, problem);
  const bool priced = late(expected_) && !of.priced.empty();
  for (const Candidate& each : priced ? of.priced : of.steady) candidates_.push_back(each);
  candidates_.front().predicted = candidates_[1].predicted;
}

/// A protocol's ranks merge or move whole vectors, with words in between. Where programs do far
/// better when all are there, because a vector is short or can be cut, it may still let most ranks
/// leave early, but whoever needs the result waits for it: there it does not compete.
void Chooser::collect_steady(CallClass& of, const Problem& problem, bool announced) {
  of.steady.clear();
  const Collective collective = problem.collective;
  know(collective, announced);
  known_.arrivals.clear();
  const CachedPlan* const fastest = plan_if_paid(of, row_of(collective, "fastest"), problem);
  if (fastest == nullptr) return;
  const Seconds balanced = fastest->balanced;
  of.steady.push_back({fastest->asked.algorithm, balanced, fastest->plan});
  for (const Algorithm& row : registry(collective)) {
    if (row.kind != Kind::protocol || announced) continue;
    const CachedPlan* const protocol = plan_if_paid(of, row, problem);
    if (protocol == nullptr || protocol->balanced > kNoWorse * balanced) continue;
    of.steady.push_back({&row, protocol->balanced, protocol->plan});
  }
  if (of.lately.empty()) return;
  // Nobody knows who will be late: under the arrivals of the last calls.
  for (Candidate& each : of.steady) {
    Seconds sum = 0;
    int count = 0;
    for (const auto& prices : of.lately) {
      for (const Candidate& then : prices) {
        if (then.row != each.row) continue;
        sum += then.predicted;
        ++count;
      }
    }
    if (count > 0) each.predicted = sum / count;
  }
}

/// As it is where ranks may leave early and that costs little to know, and beside protocols.
/// Otherwise as if nobody were late: a broadcast's replay takes a millisecond for 48 ranks.
Seconds Chooser::price_of(const CallClass& of, const Candidate& steady,
                          const std::vector<Seconds>& arrivals) const {
  const Collective collective = steady.row->collective;
  const bool exact = of.steady.size() > 1 || (rooted(collective) && combines(collective));
  const Seconds after_last = exact ? mean_after_last(*steady.plan, known_.network, arrivals)
                                   : balanced_time(*steady.plan, known_.network);
  return as_price(after_last, collective, arrivals);
}

/// Of all candidates that have plans, for the arrivals that are expected. Where the calls have not
/// paid for it, nothing is priced.
void Chooser::price(CallClass& of, const Problem& problem) {
  if (of.priced_count == problem.count && of.arrivals == expected_) return;
  of.priced.clear();
  of.priced_count = -1;
  Seconds cost = 0;
  for (const Algorithm& row : registry(problem.collective)) {
    if (row.arrival_aware && may_pay(row, problem, known_.network)) {
      cost += planning_cost(row, problem, known_.network);
    }
  }
  if (of.account < cost) return;
  of.account -= cost;
  of.priced_count = problem.count;
  of.arrivals = expected_;
  for (const Candidate& steady : of.steady) {
    of.priced.push_back({steady.row, price_of(of, steady, expected_), steady.plan});
  }
  known_.arrivals = expected_;
  for (const Algorithm& row : registry(problem.collective)) {
    const bool candidate = row.time_after_last != nullptr && row.arrival_aware &&
                           may_pay(row, problem, known_.network);
    if (!candidate) continue;
    const CachedPlan& cached = plans_for_call().get({&row, {}}, problem, known_);
    if (cached.plan->algorithm != row.name) continue;  // another's, tried under its own name
    const Seconds after_last = mean_after_last(*cached.plan, known_.network, expected_);
    of.priced.push_back({&row, as_price(after_last, problem.collective, expected_), cached.plan});
  }
}

/// One of which too little is known: first the library's collective, then the best balanced
/// program, until both are judged; later whatever has not been used for long.
const Candidate* Chooser::to_try(CallClass& of) const {
  if (candidates_.size() < 2) return nullptr;
  const Prices prices(of);
  const auto uses = [&](const Candidate& candidate) {
    const Track* track = prices.find(candidate.row->name);
    return track == nullptr ? 0 : track->uses();
  };
  for (const Candidate* each : {&candidates_[0], &candidates_[1]}) {
    if (!prices.judged(*each->row) && uses(*each) < kMostUses) return each;
  }
  const Candidate& best = best_of(of);
  for (const Candidate& other : candidates_) {
    const auto track = of.tracks.find(other.row->name);
    if (other.row == best.row || track == of.tracks.end() || !track->second.known()) continue;
    if (!track->second.due(of.calls, prices.of(other) / prices.of(best))) continue;
    track->second.renew();
    return &other;
  }
  return nullptr;
}

const Candidate& Chooser::best_of(const CallClass& of) const {
  const Prices prices(of);
  const Candidate& native = candidates_.front();
  if (candidates_.size() < 2 || !prices.judged(*candidates_[1].row)) return native;
  const auto cheaper = [&](const Candidate& a, const Candidate& b) {
    return prices.of(a) < prices.of(b);
  };
  const Candidate& best = *std::min_element(candidates_.begin(), candidates_.end(), cheaper);
  const auto is_current = [&](const Candidate& each) { return each.row == of.current; };
  const auto found = std::find_if(candidates_.begin(), candidates_.end(), is_current);
  const Candidate& current = found == candidates_.end() ? native : *found;
  return prices.of(best) > kGain * prices.of(current) ? current : best;
}

/// So that telling costs at most kTelling of the calls since it was last done.
std::uint64_t Chooser::calls_between_exchanges(const CallClass& of, const Candidate& chosen,
                                               const Problem& problem) const {
  if (rooted(problem.collective))
    return kRootedEvery << std::min(of.balanced_in_a_row, kMostDoublings);
  const Prices prices(of);
  const Seconds call = std::max(of.elapsed, prices.of(chosen));
  if (!(call > 0)) return kRootedEvery;
  const Seconds exchange = ceil_log2(problem.ranks) * known_.network.transfer(0) * prices.usual();
  return 1 + static_cast<std::uint64_t>(std::min(1e6, exchange / (kExchanging * call)));
}

/// The next call that is told of, or in which something is tried again.
std::uint64_t Chooser::next_event(const CallClass& of, std::uint64_t every) const {
  const Prices prices(of);
  std::uint64_t next = of.calls + every;
  for (const Candidate& each : candidates_) {
    const Track* track = prices.find(each.row->name);
    if (each.row == of.current || track == nullptr || !track->known()) continue;
    next = std::min(next, track->next(prices.of(each) / prices.of(candidates_.front())));
  }
  return std::max(next, of.calls + 1);
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

/// What needs no estimate is held against its price for the arrivals that came, the others against
/// what they were chosen for: a wrong estimate is theirs.
Seconds Chooser::promised(CallClass& of, const Selection& selection,
                          const std::vector<Seconds>& arrivals) {
  if (of.steady.empty()) return selection.predicted;
  std::vector<Candidate> prices;
  Seconds promised = selection.predicted;
  for (const Candidate& steady : of.steady) {
    prices.push_back({steady.row, price_of(of, steady, arrivals), nullptr});
    const bool stands_for = prices.size() == 1 && is_native(*selection.row);
    if (steady.row == selection.row || stands_for) promised = prices.back().predicted;
  }
  of.lately.push_back(std::move(prices));
  if (of.lately.size() > kLately) of.lately.erase(of.lately.begin());
  return promised;
}

void Chooser::learn(const Selection& selection, std::optional<Seconds> taken,
                    const std::vector<Seconds>& arrivals) {
  if (selection.row == nullptr || !taken) return;
  const auto found = classes_.find(selection.key);
  if (found == classes_.end()) return;
  CallClass& of = found->second;
  constexpr double kWeight = 0.25;
  of.elapsed += kWeight * (*taken + waiting(arrivals) - of.elapsed);
  Seconds predicted = selection.predicted;
  if (rooted(selection.row->collective)) {
    if (arrivals.empty()) return;
    predicted = promised(of, selection, arrivals);
    *taken += waiting(arrivals);
  }
  if (!(predicted > 0) || selection.first) return;
  of.tracks[selection.row->name].learn(*taken / predicted);
}

}  // namespace latecomer
