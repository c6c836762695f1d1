#include "lateness/calls.hpp"

#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/threads.hpp"
#include "lateness/traced_job.hpp"

namespace latecomer {
namespace {

constexpr std::size_t kWorthAThread = std::size_t{1} << 16;  // times

/// An arrival and its rank; those of one time are in the order of ranks.
struct Arrived {
  Seconds time;
  std::int32_t rank;

  bool operator<(const Arrived& other) const {
    return time < other.time || (time == other.time && rank < other.rank);
  }
};

/// Sorts arrivals by time: by numbers of 32 bits that grow with it, digit by digit. The order of
/// many ranks is by chance, and processors cannot foretell comparisons of it.
class Sorter {
 public:
  /// `arrivals` are in the order of ranks.
  void operator()(std::vector<Arrived>& arrivals) {
    if (arrivals.size() >= kMany && by_digits(arrivals)) return;
    std::ranges::sort(arrivals, std::less<>());
  }

 private:
  static constexpr std::size_t kMany = 48;
  static constexpr int kBits = 11;  // of a digit
  static constexpr std::size_t kDigits = std::size_t{1} << kBits;

  /// False: they are not sorted, since several differ in what the numbers do not hold.
  bool by_digits(std::vector<Arrived>& arrivals) {
    const auto [least, most] = std::ranges::minmax(arrivals, {}, &Arrived::time);
    const double scale = 4294967295.0 / (most.time - least.time);
    if (!std::isfinite(scale)) return false;
    for (auto& each : counts_) each.fill(0);
    keys_.resize(arrivals.size());
    other_.resize(arrivals.size());
    for (std::size_t at = 0; at < arrivals.size(); ++at) {
      const auto number = static_cast<std::uint32_t>((arrivals[at].time - least.time) * scale);
      keys_[at] = {number, arrivals[at].rank};
      for (std::size_t digit = 0; digit < counts_.size(); ++digit) {
        ++counts_[digit][digit_of(number, digit)];
      }
    }
    times_.resize(arrivals.size());
    for (std::size_t at = 0; at < arrivals.size(); ++at) times_[at] = arrivals[at].time;
    for (std::size_t digit = 0; digit < counts_.size(); ++digit) {
      auto& begins = counts_[digit];
      std::exclusive_scan(begins.begin(), begins.end(), begins.begin(), 0U);
      for (const Key& key : keys_) other_[begins[digit_of(key.number, digit)]++] = key;
      std::swap(keys_, other_);
    }
    for (std::size_t at = 0; at < arrivals.size(); ++at) {
      arrivals[at] = {times_[static_cast<std::size_t>(keys_[at].rank)], keys_[at].rank};
    }
    return std::ranges::is_sorted(arrivals, std::less<>());
  }

  static std::size_t digit_of(std::uint32_t number, std::size_t digit) {
    return (number >> (static_cast<int>(digit) * kBits)) & (kDigits - 1);
  }

  struct Key {
    std::uint32_t number;
    std::int32_t rank;
  };
  std::array<std::array<std::uint32_t, kDigits>, 3> counts_{};
  std::vector<Key> keys_;
  std::vector<Key> other_;
  std::vector<Seconds> times_;
};

/// One call after the other.
class Examiner {
 public:
  Examiner(const WholeCalls& calls, const CallFigures& into)
      : calls_(calls),
        into_(into),
        ranks_(calls.ranks),
        order_(ranks_),
        made_ready_(calls.ready.empty() ? 0 : ranks_),
        ready_(calls.ready.empty() ? order_ : made_ready_),
        meets_(ranks_),
        places_(ranks_),
        charges_(ranks_) {}

  void operator()(std::size_t call) {
    const std::size_t at = call * ranks_;
    arrival_ = calls_.arrival.subspan(at, ranks_);
    exit_ = calls_.exit.subspan(at, ranks_);
    for (std::size_t rank = 0; rank < ranks_; ++rank) {
      order_[rank] = {arrival_[rank], static_cast<std::int32_t>(rank)};
    }
    sort_(order_);
    if (!made_ready_.empty()) be_ready(calls_.ready.subspan(at, ranks_));
    const Seconds last = order_[ranks_ - 1].time;
    const Seconds second = order_[ranks_ - 2].time;
    into_.first[call] = ready_[0].rank;
    const bool alone = ready_[ranks_ - 1].time > ready_[ranks_ - 2].time;
    into_.last[call] = alone ? ready_[ranks_ - 1].rank : -1;
    into_.spread[call] = be_late(into_.lateness.subspan(at, ranks_));
    into_.after[call] = *std::ranges::max_element(exit_) - last;
    const bool all_meet = meet(calls_.by_all[call] != 0);
    const auto stayed = static_cast<Seconds>(std::ranges::count(meets_, ranks_));
    into_.alone[call] = (last - second) * (stayed - 1);
    const auto waiting = into_.waiting.subspan(at, ranks_);
    wait(call, waiting);
    all_meet&& made_ready_.empty() ? charge_of_all() : charge_of_some();
    charge(into_.cost.subspan(at, ranks_), into_.waited[call]);
  }

 private:
  /// Each rank was in MPI for at least as long as the one that was there least: that is no waiting.
  /// Before the first one comes nobody waits.
  void be_ready(std::span<const Seconds> ready) {
    const Seconds first = order_[0].time;
    Seconds least = std::numeric_limits<Seconds>::infinity();
    for (std::size_t rank = 0; rank < ranks_; ++rank) {
      least = std::min(least, arrival_[rank] - ready[rank]);
    }
    for (std::size_t rank = 0; rank < ranks_; ++rank) {
      made_ready_[rank] = {std::clamp(ready[rank] + least, first, arrival_[rank]),
                           static_cast<std::int32_t>(rank)};
    }
    sort_(made_ready_);
  }

  Seconds be_late(std::span<Seconds> lateness) const {
    const Seconds median = (ready_[(ranks_ - 1) / 2].time + ready_[ranks_ / 2].time) / 2;
    for (std::size_t place = 0; place < ranks_; ++place) {
      const Seconds from = ranks_ == 2 ? ready_[1 - place].time : median;
      lateness[static_cast<std::size_t>(ready_[place].rank)] = ready_[place].time - from;
    }
    return std::ranges::max(lateness);
  }

  /// How many arrivals each place of the order waits for or comes after, its own included. True:
  /// each of them all.
  bool meet(bool by_all) {
    std::ranges::fill(meets_, ranks_);
    if (by_all) return true;
    bool all = true;
    for (std::size_t place = 0; place < ranks_; ++place) {
      const auto rank = static_cast<std::size_t>(order_[place].rank);
      const Seconds until = std::max(exit_[rank], arrival_[rank]);
      const auto later = std::ranges::upper_bound(order_, until, {}, &Arrived::time);
      meets_[place] = static_cast<std::size_t>(later - order_.begin());
      all = all && meets_[place] == ranks_;
    }
    return all;
  }

  void wait(std::size_t call, std::span<Seconds> waiting) const {
    Seconds waited = 0;
    Seconds moved = 0;
    for (std::size_t place = 0; place < ranks_; ++place) {
      const auto rank = static_cast<std::size_t>(order_[place].rank);
      const Seconds until = std::min(order_[meets_[place] - 1].time, exit_[rank]);
      waiting[rank] = std::max(until - arrival_[rank], 0.0);
      waited += waiting[rank];
      moved += std::max(exit_[rank] - arrival_[rank] - waiting[rank], 0.0);
    }
    into_.waited[call] = waited;
    into_.moved[call] = moved;
  }

  [[nodiscard]] Seconds gap(std::size_t place) const {
    return order_[place + 1].time - order_[place].time;
  }

  /// Where all wait for all, and a rank is ready when it arrives.
  void charge_of_all() {
    Seconds sum = 0;
    for (std::size_t there = 0; there < ranks_; ++there) {
      if (there > 0) {
        sum +=
            gap(there - 1) * (static_cast<Seconds>(there) / static_cast<Seconds>(ranks_ - there));
      }
      charges_[static_cast<std::size_t>(order_[there].rank)] = sum;
    }
    uncharged_ = 0;
  }

  /// For the ranks that wait for as many arrivals at a time.
  void charge_of_some() {
    std::ranges::fill(charges_, 0);
    uncharged_ = 0;
    for (std::size_t place = 0; place < ranks_; ++place) {
      places_[static_cast<std::size_t>(order_[place].rank)] = place;
    }
    first_.assign(ranks_ + 1, ranks_);
    for (std::size_t place = ranks_; place-- > 0;) first_[meets_[place]] = place;
    for (std::size_t met = 2; met <= ranks_; ++met) {
      if (first_[met] < ranks_) charge_for(met);
    }
  }

  /// Charges those that are not ready, one after the other, what is waited until they are.
  void charge_for(std::size_t met) {
    std::size_t there = first_[met];  // in the order of arrivals
    std::size_t here = 0;             // of them, those that wait for so many
    Seconds since = order_[there].time;
    const auto go_to = [&](Seconds time, std::size_t unready, Seconds& sum) {
      for (; there < met && order_[there].time <= time; ++there) {
        sum += waited(since, order_[there].time, here, unready);
        here += meets_[there] == met ? 1 : 0;
      }
      sum += waited(since, time, here, unready);
    };
    std::size_t unready = met;
    Seconds sum = 0;
    for (const auto& [time, rank] : ready_) {
      if (time > order_[met - 1].time) break;
      if (places_[static_cast<std::size_t>(rank)] >= met) continue;
      if (time > since || here > 0) go_to(time, unready, sum);
      --unready;
      charges_[static_cast<std::size_t>(rank)] += sum;
    }
    go_to(order_[met - 1].time, 0, uncharged_);
  }

  /// Each one's part of what is waited until then, or all of it if nobody is to be charged.
  static Seconds waited(Seconds& since, Seconds until, std::size_t here, std::size_t unready) {
    const Seconds took = std::max(until - since, 0.0) * static_cast<Seconds>(here);
    since = std::max(since, until);
    return unready > 0 ? took / static_cast<Seconds>(unready) : took;
  }

  /// Where clocks are off, a rank seems to leave before the last one comes, and waits less.
  void charge(std::span<Seconds> cost, Seconds waited) const {
    Seconds total = uncharged_;
    for (const Seconds each : charges_) total += each;
    const Seconds part = waited / (total > 0 ? total : 1.0);
    for (std::size_t rank = 0; rank < ranks_; ++rank) cost[rank] = charges_[rank] * part;
  }

  const WholeCalls& calls_;
  const CallFigures& into_;
  std::size_t ranks_;
  std::span<const Seconds> arrival_;
  std::span<const Seconds> exit_;
  Sorter sort_;
  std::vector<Arrived> order_;
  std::vector<Arrived> made_ready_;
  const std::vector<Arrived>& ready_;  // by when ranks are ready: `order_`, if that is not told
  std::vector<std::size_t> meets_;     // by place in the order
  std::vector<std::size_t> places_;    // in the order, by rank
  std::vector<std::size_t> first_;     // place that meets so many
  std::vector<Seconds> charges_;       // by rank
  Seconds uncharged_ = 0;
};

/// Over all calls, for some ranks: so the sums do not depend on the number of threads.
void add_up(const WholeCalls& calls, const CallFigures& found, const RankSums& sums,
            std::size_t begin, std::size_t end) {
  for (const auto& each :
       {sums.waiting, sums.moving, sums.cost, sums.lateness, sums.squares, sums.products}) {
    std::ranges::fill(each.subspan(begin, end - begin), 0);
  }
  const std::size_t count = calls.by_all.size();
  for (std::size_t call = 0; call < count; ++call) {
    const std::size_t at = call * calls.ranks;
    for (std::size_t rank = begin; rank < end; ++rank) {
      const Seconds late = found.lateness[at + rank];
      const Seconds waited = found.waiting[at + rank];
      const Seconds inside = calls.exit[at + rank] - calls.arrival[at + rank];
      sums.waiting[rank] += waited;
      sums.moving[rank] += std::max(inside - waited, 0.0);
      sums.cost[rank] += found.cost[at + rank];
      sums.lateness[rank] += late;
      sums.squares[rank] += late * late;
      if (call > 0) sums.products[rank] += late * found.lateness[at - calls.ranks + rank];
    }
  }
}

}  // namespace

void examine(const WholeCalls& calls, const CallFigures& into, const RankSums& sums) {
  const std::size_t count = calls.by_all.size();
  if (calls.ranks < 2) throw Error("ranks", std::to_string(calls.ranks), "2 or more");
  for (const std::size_t times : {calls.arrival.size(), calls.exit.size(), into.lateness.size(),
                                  into.waiting.size(), into.cost.size()}) {
    check_length(times, count * calls.ranks, "times of calls");
  }
  if (!calls.ready.empty()) check_length(calls.ready.size(), count * calls.ranks, "times of calls");
  for (const std::size_t each :
       {into.waited.size(), into.moved.size(), into.spread.size(), into.alone.size(),
        into.after.size(), into.last.size(), into.first.size()}) {
    check_length(each, count, "calls");
  }
  for (const std::size_t each : {sums.waiting.size(), sums.moving.size(), sums.cost.size(),
                                 sums.lateness.size(), sums.squares.size(), sums.products.size()}) {
    check_length(each, calls.ranks, "sums of ranks");
  }
  in_parallel(count, kWorthAThread / calls.ranks + 1, [&](std::size_t begin, std::size_t end) {
    Examiner examiner(calls, into);
    for (std::size_t call = begin; call < end; ++call) examiner(call);
  });
  in_parallel(calls.ranks, kWorthAThread / (count + 1) + 1,
              [&](std::size_t begin, std::size_t end) { add_up(calls, into, sums, begin, end); });
}

}  // namespace latecomer
