#include "dropin/matching.hpp"

#include <array>
#include <cmath>
#include <cstring>
#include <string_view>

#include "lateness/calls.hpp"
#include "runtime/report/stats_report.hpp"
#include "transports/mpi/communicators.hpp"

namespace latecomer {
namespace {

using matching::Entry;
using matching::Group;
using matching::Groups;
using matching::Known;
using matching::PlaceKey;
using matching::Times;

constexpr std::size_t kMostKeys = 256;   // that a rank takes part with
constexpr std::size_t kMostPlaces = 32;  // of a group; further ones share the last
constexpr std::size_t kToldPlaces = 8;   // of a rank
constexpr int kTag = 1;

constexpr Seconds kSameClock = 100e-6;  // as in python/latecomer/report/trace/contradictions.py

// When the first call is left out: as in python/latecomer/report/analysis/cut.py.
constexpr double kFew = 10;
constexpr double kDominant = 0.1;
constexpr double kTimes = 5;

int size_of(std::size_t bytes) { return static_cast<int>(bytes); }

class Matching {
 public:
  Matching(MPI_Comm comm, const ClockModel& clock, Seconds clock_error)
      : comm_(comm),
        clock_(clock),
        contradicts_(kSameClock + 2 * clock_error),
        me_(rank_in(comm)),
        ranks_(ranks_of(comm)) {}

  JobWaits operator()() {
    gather_groups();
    std::vector<Entry> mine;
    for (const auto& [key, group] : groups_) mine.push_back(group.made());
    std::sort(mine.begin(), mine.end(),
              [](const Entry& a, const Entry& b) { return a.calls > b.calls; });
    mine.resize(std::min(mine.size(), kMostKeys));
    const std::vector<Known> made = known_alike(mine);
    mine.clear();
    for (const Known& each : made) {
      const auto found = groups_.find(each.key);
      if (found == groups_.end()) continue;
      take_sample(found->second, each.mask);
      mine.push_back(found->second.sampled());
    }
    for (const Known& each : known_alike(mine)) {
      const auto found = groups_.find(each.key);
      if (found != groups_.end()) analyse(found->second);
    }
    leave_out_first();
    add_up();
    tell_places();
    return std::move(all_);
  }

 private:
  void gather_groups() {
    for (stamps::CommStamps& comm : stamps::all()) {
      const stamps::Members* const members = comm.members();
      made_ += comm.calls();
      if (members == nullptr || std::ranges::find(members->ranks, -1) != members->ranks.end()) {
        continue;
      }
      Group& group = groups_[comm.key()];
      group.members = members->ranks;
      group.comms.push_back(&comm);
      group.calls += comm.calls();
    }
    for (auto& [key, group] : groups_) {
      std::ranges::sort(group.comms, {}, [](const auto* each) { return each->which(); });
    }
  }

  /// Those of which all members tell the same.
  std::vector<Known> known_alike(const std::vector<Entry>& mine) {
    const std::vector<Entry> all = gathered(mine);
    std::map<std::uint64_t, std::pair<Entry, std::uint64_t>> merged;  // and how many have it
    for (const Entry& each : all) {
      auto& [entry, have] = merged.try_emplace(each.key, each, 0).first->second;
      const bool alike =
          entry.size == each.size && entry.calls == each.calls && entry.numbers == each.numbers;
      if (alike) ++have;
      entry.mask = std::max(entry.mask, each.mask);
    }
    std::vector<Known> known;
    for (const auto& [key, each] : merged) {
      if (each.second == each.first.size) known.push_back({key, each.first.mask});
    }
    auto count = static_cast<std::uint64_t>(known.size());
    PMPI_Bcast(&count, 1, MPI_UINT64_T, 0, comm_);
    known.resize(count);
    PMPI_Bcast(known.data(), size_of(count * sizeof(Known)), MPI_BYTE, 0, comm_);
    return known;
  }

  /// On rank 0 everybody's.
  template <class Item>
  std::vector<Item> gathered(const std::vector<Item>& mine) {
    const int bytes = size_of(mine.size() * sizeof(Item));
    std::vector<int> sizes(static_cast<std::size_t>(ranks_));
    PMPI_Gather(&bytes, 1, MPI_INT, sizes.data(), 1, MPI_INT, 0, comm_);
    std::vector<int> places(sizes.size());
    int end = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      places[i] = end;
      end += sizes[i];
    }
    std::vector<Item> all(me_ == 0 ? static_cast<std::size_t>(end) / sizeof(Item) : 0);
    PMPI_Gatherv(mine.data(), bytes, MPI_BYTE, all.data(), sizes.data(), places.data(), MPI_BYTE, 0,
                 comm_);
    return all;
  }

  static void take_sample(Group& group, std::uint64_t mask) {
    for (stamps::CommStamps* const comm : group.comms) {
      comm->reduce_to(mask);
      auto& own = comm->kept();
      std::sort(own.begin(), own.end(), [](const stamps::Stamp& a, const stamps::Stamp& b) {
        return a.sequence < b.sequence;
      });
      group.sample.insert(group.sample.end(), own.begin(), own.end());
      std::vector<stamps::Stamp>().swap(own);
    }
  }

  [[nodiscard]] Times times_of(const stamps::Stamp& stamp) const {
    const auto common = [&](std::int64_t time) {
      return clock_.common(static_cast<Seconds>(time) * 1e-9);
    };
    return {common(stamp.arrival), common(stamp.exit), common(stamp.ready),
            fnv1a(stamps::name_of(stamp.collective))};
  }

  /// Each member gets all members' times of an equal part of the calls.
  void analyse(Group& group) {
    const std::vector<stamps::Stamp>& own = group.sample;
    if (own.empty()) return;
    std::vector<Times> mine;
    mine.reserve(own.size());
    for (const stamps::Stamp& stamp : own) mine.push_back(times_of(stamp));
    const std::size_t size = group.members.size();
    const auto place = static_cast<std::size_t>(
        std::find(group.members.begin(), group.members.end(), me_) - group.members.begin());
    const auto begin = [&](std::size_t part) { return own.size() * part / size; };
    const std::size_t first = begin(place);
    const std::size_t count = begin(place + 1) - first;
    std::vector<Times> theirs(size * count);  // of each member, one after the other
    for (std::size_t step = 0; step < size; ++step) {
      const std::size_t to = (place + step) % size;
      const std::size_t from = (place + size - step) % size;
      PMPI_Sendrecv(&mine[std::min(begin(to), mine.size() - 1)],
                    size_of((begin(to + 1) - begin(to)) * sizeof(Times)), MPI_BYTE,
                    group.members[to], kTag, theirs.data() + from * count,
                    size_of(count * sizeof(Times)), MPI_BYTE, group.members[from], kTag, comm_,
                    MPI_STATUS_IGNORE);
    }
    all_.all_calls += place == 0 ? group.calls : 0;
    group.weight = static_cast<double>(group.calls) / static_cast<double>(own.size());
    std::vector<Seconds> arrivals(size);
    std::vector<Seconds> exits(size);
    std::vector<Seconds> ready(size);
    for (std::size_t call = 0; call < count; ++call) {
      bool alike = true;
      for (std::size_t i = 0; i < size; ++i) {
        const Times& times = theirs[i * count + call];
        arrivals[i] = times.arrival;
        exits[i] = times.exit;
        ready[i] = times.ready;
        alike = alike && times.collective == mine[first + call].collective;
      }
      if (!alike) {
        ++group.unlike;
        continue;
      }
      const stamps::Stamp& stamp = own[first + call];
      const PlaceKey key = place_of(group, stamp);
      const bool by_all = is_by_all(stamp, arrivals, exits);
      group.places.try_emplace(key, size).first->second.add(arrivals, exits, ready, by_all);
      if (first + call == 0 && stamp.sequence == 0) {
        group.first.emplace(size).add(arrivals, exits, ready, by_all);
        group.first_place = key;
        group.first_time = *std::min_element(arrivals.begin(), arrivals.end());
      }
    }
  }

  /// Somebody may leave early where nothing is sent to him, but that is rare.
  [[nodiscard]] bool is_by_all(const stamps::Stamp& stamp, const std::vector<Seconds>& arrivals,
                               const std::vector<Seconds>& exits) const {
    const std::string_view collective = stamps::name_of(stamp.collective);
    if (!may_meet(collective)) return false;
    return never_early(collective, stamp.bytes) ||
           std::ranges::max(arrivals) - std::ranges::min(exits) <= contradicts_;
  }

  static PlaceKey place_of(const Group& group, const stamps::Stamp& stamp) {
    const PlaceKey key{stamp.collective, stamp.bytes, stamp.site};
    const bool known = group.places.size() < kMostPlaces || group.places.contains(key);
    return known ? key : PlaceKey{stamp.collective, -1, nullptr};
  }

  template <class Value>
  Value summed(Value mine) {
    double number = static_cast<double>(mine);
    PMPI_Allreduce(MPI_IN_PLACE, &number, 1, MPI_DOUBLE, MPI_SUM, comm_);
    return static_cast<Value>(number);
  }

  /// Leaves out the first call of the job where it makes much of all waiting, as where ranks begin
  /// at different times.
  void leave_out_first() {
    struct {
      double time = 1e300;
      int rank = 0;
    } first;
    first.rank = me_;
    Group* mine = nullptr;
    const Waits* own_first = nullptr;
    double waiting = 0;
    double calls = 0;
    for (auto& [key, group] : groups_) {
      for (const auto& [place, waits] : group.places) {
        waiting += group.weight * waits.all_waiting();
        calls += group.weight * static_cast<double>(waits.calls);
      }
      if (!group.first || group.first_time >= first.time) continue;
      first.time = group.first_time;
      mine = &group;
      own_first = &*group.first;
    }
    PMPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_DOUBLE_INT, MPI_MINLOC, comm_);
    if (first.time >= 1e300) return;
    waiting = summed(waiting);
    calls = summed(calls);
    double own = own_first != nullptr ? own_first->all_waiting() : 0;
    PMPI_Bcast(&own, 1, MPI_DOUBLE, first.rank, comm_);
    if (calls < kFew || own < kDominant * waiting || own < kTimes * (waiting - own) / (calls - 1)) {
      return;
    }
    all_.skipped = own;
    if (me_ != first.rank || mine == nullptr) return;
    mine->places.find(mine->first_place)->second.remove(*own_first);
  }

  void add_up() {
    const auto ranks = static_cast<std::size_t>(ranks_);
    std::vector<double> sums(5 * ranks);
    std::uint64_t known = 0;
    double used = 0;
    for (const auto& [key, group] : groups_) {
      for (const auto& [place, waits] : group.places) {
        known += waits.calls;
        used += group.weight * static_cast<double>(waits.calls * group.members.size());
        for (std::size_t i = 0; i < group.members.size(); ++i) {
          const auto rank = static_cast<std::size_t>(group.members[i]);
          sums[rank] += group.weight * waits.waiting[i];
          sums[ranks + rank] += group.weight * waits.moving[i];
          sums[2 * ranks + rank] += group.weight * waits.cost[i];
          sums[3 * ranks + rank] += waits.last[i];
          sums[4 * ranks + rank] += group.weight * waits.squares[i];
        }
      }
    }
    PMPI_Allreduce(MPI_IN_PLACE, sums.data(), size_of(sums.size()), MPI_DOUBLE, MPI_SUM, comm_);
    const auto part = [&](std::size_t number) {
      const auto begin = sums.begin() + static_cast<std::ptrdiff_t>(number * ranks);
      return std::vector<double>(begin, begin + ranks_);
    };
    all_.waiting = part(0);
    all_.moving = part(1);
    all_.cost = part(2);
    all_.last = part(3);
    all_.squares = part(4);
    all_.calls = summed(known);
    all_.all_calls = summed(all_.all_calls);
    const double left = summed(static_cast<double>(made_)) - summed(used);
    const double skipped = all_.skipped >= 0 ? ranks_ : 0;
    all_.unmatched = static_cast<std::uint64_t>(std::llround(std::max(0.0, left - skipped)));
    const auto most = std::max_element(all_.cost.begin(), all_.cost.end());
    if (*most > 0) all_.costliest = static_cast<Rank>(most - all_.cost.begin());
  }

  /// A place as ranks tell it.
  struct Told {
    std::array<char, 32> collective{};
    std::array<char, 168> site{};
    std::int64_t bytes = -1;
    double waiting = 0;
    double cost = 0;
    double calls = 0;
    double last = 0;
    double lateness = 0;

    [[nodiscard]] double weight() const { return cost > 0 ? cost : waiting; }
  };

  template <std::size_t size>
  static void write(std::array<char, size>& to, std::string_view text) {
    std::copy_n(text.data(), std::min(text.size(), size - 1), to.data());
  }
  template <std::size_t size>
  static std::string text(const std::array<char, size>& from) {
    return {from.data(), strnlen(from.data(), size)};
  }

  [[nodiscard]] Told told(const Group& group, const PlaceKey& key, const Waits& waits) const {
    Told told;
    write(told.collective, stamps::name_of(key.collective));
    if (key.site != nullptr) write(told.site, name_of_site(key.site));
    told.bytes = key.bytes;
    told.waiting = group.weight * waits.all_waiting();
    const auto found = std::find(group.members.begin(), group.members.end(), all_.costliest);
    if (found == group.members.end()) return told;
    const auto at = static_cast<std::size_t>(found - group.members.begin());
    told.cost = group.weight * waits.cost[at];
    told.calls = static_cast<double>(waits.calls);
    told.last = waits.last[at];
    told.lateness = waits.lateness[at];
    return told;
  }

  void tell_places() {
    std::vector<Told> mine;
    for (const auto& [key, group] : groups_) {
      for (const auto& [place, waits] : group.places) {
        if (waits.calls > 0) mine.push_back(told(group, place, waits));
      }
    }
    const auto heavier = [](const auto& a, const auto& b) { return a.weight() > b.weight(); };
    std::sort(mine.begin(), mine.end(), heavier);
    mine.resize(std::min(mine.size(), kToldPlaces));
    std::map<std::pair<std::string, std::pair<std::string, std::int64_t>>, Told> merged;
    for (const Told& each : gathered(mine)) {
      const auto [found, fresh] =
          merged.try_emplace({text(each.collective), {text(each.site), each.bytes}}, each);
      if (fresh) continue;
      Told& sum = found->second;
      sum.waiting += each.waiting;
      sum.cost += each.cost;
      sum.calls += each.calls;
      sum.last += each.last;
      sum.lateness += each.lateness;
    }
    std::vector<Told> all;
    for (const auto& [name, each] : merged) all.push_back(each);
    std::stable_sort(all.begin(), all.end(), heavier);
    all.resize(std::min(all.size(), 2 * kToldPlaces));
    for (const Told& each : all) {
      all_.places.push_back({text(each.collective), text(each.site), each.bytes, each.waiting,
                             each.cost, each.calls, each.last, each.lateness});
    }
  }

  MPI_Comm comm_;
  ClockModel clock_;
  Seconds contradicts_;  // times that differ by more are no error of clocks
  int me_;
  int ranks_;
  Groups groups_;
  std::uint64_t made_ = 0;  // calls of this rank that others took part in
  JobWaits all_;
};

}  // namespace

JobWaits match_calls(MPI_Comm comm, const ClockModel& clock, Seconds clock_error) {
  return Matching(comm, clock, clock_error)();
}

}  // namespace latecomer
