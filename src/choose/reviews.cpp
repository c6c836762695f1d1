// Reviews: the ranks compare the durations of their last calls, so that automatic choice begins
// where it may gain, and ends where it does not.
#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <utility>
#include <vector>

#include "base/reproducible.hpp"
#include "choose/chooser.hpp"
#include "patterns/powers.hpp"
#include "price/price.hpp"

namespace latecomer {
namespace {

constexpr Seconds kConnectTime = 400e-6;  // to make CommResources, for each doubling of the ranks
constexpr Seconds kReviewTime = 10e-6;    // to compare, for each doubling of the ranks
constexpr Seconds kOwnStep = 5e-6;  // a program's step takes so long however fast the network is
constexpr Count kMovedFirst = Count{192} << 10;  // bytes of a class's calls before its first review
constexpr std::uint64_t kGrowth = 4;             // factor of the calls between reviews
constexpr double kLoss = 0.01;  // part of the time of a class's calls that deciding may lose
// A loss beyond it was one of a disturbed machine, or does not last long: few calls are reviewed.
constexpr double kMostLoss = 1;
constexpr std::uint64_t kMaxPauseDoublings = 7;  // times that a pause after a lost review doubles
constexpr std::size_t kEnoughCalls = 3;          // of the library, for its mean to count
constexpr std::uint64_t kReviewed = 8;           // calls that are decided about between two reviews
constexpr std::uint64_t kFirstReview = 16;       // the first ones try what there is
constexpr std::uint64_t kMaxReviewed = 256;
// One in so many calls goes to the library, so that its durations do not get old: first, at last.
constexpr std::uint64_t kRefresh = 32;
constexpr std::uint64_t kMaxRefresh = 8192;

/// Returns the mean without the slowest quarter.
double trimmed_mean(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  values.resize(values.size() - values.size() / 4);
  if (values.empty()) return 0;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

template <std::size_t size>
double median(std::array<double, size> values, std::size_t count) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((count - 1) / 2);
  std::nth_element(values.begin(), middle, values.begin() + static_cast<std::ptrdiff_t>(count));
  return *middle;
}

/// Usual times inside the last calls: of the rank that is in them for the least time, and for the
/// most.
struct Usual {
  Usual(const Review& all, Reviewed by, std::size_t count) : calls(count) {
    std::vector<double> min;
    std::vector<double> max;
    for (std::size_t ago = 0; ago < count; ++ago) {
      min.push_back(all.min(by, ago));
      max.push_back(all.max(by, ago));
    }
    least = trimmed_mean(std::move(min));
    most = trimmed_mean(std::move(max));
  }
  [[nodiscard]] Seconds mean() const { return (least + most) / 2; }

  std::size_t calls = 0;
  Seconds least = 0;
  Seconds most = 0;
};

/// The part of the library's time by which decided calls are longer. The rank that comes last is in
/// an all-reduce for the least time. Other ranks may leave later than with the library: where ranks
/// wait for less time than the call takes the mean of the least and the most time counts too. It
/// does not if the library has few durations, or if decided calls keep some rank for more than
/// twice as long: the library's calls may be from before a rank was late. `whole`: nothing but
/// reviews compares the calls, so there the mean counts however long that is.
double relative_loss(Collective collective, const Usual& library, const Usual& decided,
                     bool whole) {
  if (!(library.least > 0)) return 0;
  const double on_mean = decided.mean() / library.mean() - 1;
  if (takes_mean_time(collective)) return on_mean;
  const double on_last = decided.least / library.least - 1;
  const bool brief_waits = library.calls >= kEnoughCalls && library.most < 2 * library.least &&
                           (whole || decided.most < 2 * library.most);
  return brief_waits ? std::max(on_last, on_mean) : on_last;
}

/// The calls of the library that renew all its durations, of which brief ones are timed rarely.
std::uint64_t refreshing_calls(const CallClass& call_class) {
  return Durations::kCalls * (call_class.brief ? CallClass::kTimed : 1);
}

}  // namespace

/// A review takes as long as some ten calls of short vectors, but little beside long ones. The
/// first call is often a slow one, and another may be by chance; in rooted collectives, where ranks
/// do not wait for each other, it makes later calls slow, too.
std::uint64_t Chooser::first_review(const Problem& problem) {
  const Count calls = kMovedFirst / std::max<Count>(problem.bytes(), 1);
  return static_cast<std::uint64_t>(
      std::clamp<Count>(calls, rooted(problem.collective) ? 8 : 3, 64));
}

bool Chooser::watched(CallClass& call_class, Seconds seconds) {
  if (call_class.calls > 0 && call_class.next_is_timed()) {
    call_class.library.add(seconds);
    call_class.library_timed = call_class.calls + 1;
  }
  ++call_class.calls;
  call_class.used = ++events_;
  return !call_class.active && call_class.calls >= call_class.next_event;
}

bool Chooser::measured(CallClass& call_class, Seconds library, Seconds inside) const {
  if (call_class.blocks && policy_.online) return false;
  // Trials follow each other, each with an exchange of arrivals: there both are slower than later.
  // Calls that wait until a plan is affordable do not show what deciding gains. Calls that repeat a
  // decision are usual ones.
  if (library > 0 && !last_.unusual) {
    call_class.library.add(library);
    call_class.library_timed = call_class.calls;
  }
  if (skipped_ || (!last_.first && !last_.unusual)) call_class.decided.add(inside);
  return call_class.active && call_class.decided.count() >= call_class.review_after;
}

void Chooser::defer(CallClass& call_class) { call_class.next_event = kGrowth * call_class.calls; }

void Chooser::give_up() {
  for (auto& [key, call_class] : classes_) {
    call_class.active = false;
    call_class.next_event = kGrowth * call_class.calls;
  }
}

Review Chooser::review(const CallClass& call_class, bool room) const {
  Review mine;
  const auto add = [&](Reviewed by, const Durations& durations) {
    for (std::size_t ago = 0; ago < durations.size(); ++ago) {
      mine.set_call(by, ago, durations.ago(ago), durations.ago(ago));
    }
  };
  add(Reviewed::library, call_class.library);
  add(Reviewed::decided, call_class.decided);
  mine.set_room(room);
  mine.set_network(fnv1a(to_string(policy_.network)));
  return mine;
}

bool Chooser::reviewed(CallClass& call_class, const Problem& problem, const Review& all) {
  if (agreed_ && all.same_network()) agree_on_network();
  if (!call_class.active) return activate(call_class, problem, all);
  judge(call_class, problem.collective, all);
  return false;
}

bool Chooser::activate(CallClass& call_class, const Problem& problem, const Review& all) {
  // If all ranks leave together, the least time on a rank contains no waiting for others.
  const std::size_t count = call_class.library.size();
  if (count == 0) {  // the same on all ranks
    call_class.next_event = call_class.calls + first_review(problem);
    return false;
  }
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
  call_class.waiting = std::max(0.0, call_class.elapsed - call_class.moving);
  call_class.reviewed_elapsed = call_class.elapsed;
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
    // More ranks' calls cannot be replayed.
    const bool in_blocks = rooted(problem.collective) && ranks_ <= kMaxReplayedRanks;
    if (in_blocks) call_class.blocks = std::make_unique<CallBlocks>();
    call_class.next_event = 0;
    call_class.review_after = kFirstReview;
    call_class.refresh_every = kRefresh;
    call_class.pay_in();
    return true;
  }
  const auto calls_in = [&](Seconds time) {
    return static_cast<std::uint64_t>(time / std::max(call_class.elapsed, 1e-9)) + 1;
  };
  std::uint64_t pause = (kGrowth - 1) * call_class.calls;
  if (may_gain) pause = std::min(pause, calls_in(needed - spent_));
  pause = std::max(pause, calls_in(kReviewTime * steps / kLooking));
  call_class.next_event = call_class.calls + pause;
  return false;
}

/// Compares the durations of calls that were decided about with those of the library's, whatever
/// the prices say. From time to time the library gets a few calls, since its durations may be old:
/// then nothing else would show that it has become faster. If deciding costs more than it gains,
/// the library gets the next calls: first a few, since its durations may be old; then so many that
/// the loss is at most kLoss of their time, and twice as many each time in a row.
void Chooser::judge(CallClass& call_class, Collective collective, const Review& all) {
  const Usual library(all, Reviewed::library, call_class.library.size());
  const Usual decided(all, Reviewed::decided, call_class.decided.size());
  const auto reviewed = static_cast<double>(call_class.decided.count());
  call_class.decided.clear();
  call_class.reviewed_elapsed = std::max(library.mean(), decided.mean());
  mix(state_hash_, call_class.calls);
  // Calls of the library in between were not decided about, and lost nothing.
  const auto calls_since = static_cast<double>(call_class.calls - call_class.reviewed);
  call_class.reviewed = call_class.calls;
  const double share = std::min(1.0, reviewed / std::max(calls_since, 1.0));
  const double loss = share * relative_loss(collective, library, decided,
                                            compares_whole_calls(call_class, collective));
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
    const double calls = std::max(1.0, reviewed * std::min(loss, kMostLoss) / kLoss);
    pause = static_cast<std::uint64_t>(calls)
            << std::min(call_class.futile_reviews - 1, kMaxPauseDoublings);
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

}  // namespace latecomer
