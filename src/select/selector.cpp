#include "select/selector.hpp"

#include <algorithm>
#include <numeric>

#include "patterns/powers.hpp"

namespace latecomer {
namespace {

constexpr std::uint64_t kTrials = 2;    // calls of each balanced candidate before any is judged
constexpr double kHopeless = 1.5;       // a first trial so much worse than the others is the last
constexpr int kDoubts = 2;              // of bad luck with an arrival-aware candidate
constexpr double kGain = 0.95;          // another one must be so much better to replace the current
constexpr double kWorthAnother = 1.25;  // as bad may a candidate be that is tried again
constexpr double kTelling = 0.01;       // of a call's time may telling of arrivals take
constexpr double kNoWorse = 1.5;        // than the best program may a protocol be in balance
constexpr std::size_t kLately = 5;      // calls whose arrivals stand for the next one's

bool is_native(const Algorithm& row) { return row.kind == Kind::native; }

bool late(const std::vector<Seconds>& arrivals) {
  return !arrivals.empty() && *std::max_element(arrivals.begin(), arrivals.end()) >
                                  *std::min_element(arrivals.begin(), arrivals.end());
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

}  // namespace

/// Programs that nobody has tried yet take as many times their prediction as the balanced one: the
/// network's costs are the same, and maybe wrong.
class Selector::Prices {
 public:
  explicit Prices(const std::map<std::string_view, Track>& tracks) : tracks_(tracks) {
    if (const Track* track = find("fastest")) usual_ = track->factor(1, 0);
  }

  [[nodiscard]] const Track* find(std::string_view name) const {
    const auto found = tracks_.find(name);
    return found == tracks_.end() ? nullptr : &found->second;
  }
  [[nodiscard]] std::uint64_t uses(const Algorithm& row) const {
    const Track* track = find(row.name);
    return track == nullptr ? 0 : track->uses();
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

Selector::Candidate Selector::cheapest(const Prices& prices, const std::vector<Candidate>& all) {
  return *std::min_element(all.begin(), all.end(), [&](const Candidate& a, const Candidate& b) {
    return prices.of(a) < prices.of(b);
  });
}

Selector::CallKind& Selector::kind_of(const Problem& problem, const Network& network) {
  const auto [found, fresh] = kinds_.try_emplace(call_key(problem));
  CallKind& kind = found->second;
  kind.used = ++calls_;
  if (!fresh) return kind;
  kind.native_row = &find_algorithm(problem.collective, "native");
  kind.network = network;
  const Algorithm& fastest = find_algorithm(problem.collective, "fastest");
  kind.steady.push_back({&fastest, make_plan(fastest, problem, {}, {{}, network})});
  kind.current = &fastest;  // where both are alike
  kind.balanced = balanced_time(kind.steady.front().plan, network);
  if (protocols_) add_protocols(kind, problem);
  if (kinds_.size() <= kMost) return kind;
  kinds_.erase(std::min_element(kinds_.begin(), kinds_.end(), [](const auto& a, const auto& b) {
    return a.second.used < b.second.used;
  }));
  return kind;
}

/// A protocol's ranks merge or move whole vectors, with words in between. Where programs do far
/// better when all are there, because a vector is short or can be cut, it may still let most ranks
/// leave early, but whoever needs the result waits for it: there it does not compete.
void Selector::add_protocols(CallKind& kind, const Problem& problem) const {
  for (const Algorithm& row : registry(problem.collective)) {
    if (row.kind != Kind::protocol || !accepts(row, problem, nullptr)) continue;
    Plan plan = make_plan(row, problem, {}, {{}, kind.network});
    if (balanced_time(plan, kind.network) > kNoWorse * kind.balanced) continue;
    kind.steady.push_back({&row, std::move(plan)});
  }
}

void Selector::price(CallKind& kind, const Problem& problem, const std::vector<Seconds>& arrivals) {
  if (kind.arrivals == arrivals) return;
  kind.arrivals = arrivals;
  kind.priced.clear();
  for (const Steady& steady : kind.steady) {
    kind.priced.push_back({steady.row, price_of(kind, steady, arrivals)});
  }
  for (const Algorithm& row : registry(problem.collective)) {
    const bool candidate =
        row.time_after_last != nullptr && row.arrival_aware && may_pay(row, problem, kind.network);
    if (!candidate) continue;
    const Plan plan = make_plan(row, problem, {}, {arrivals, kind.network});
    if (plan.algorithm != row.name) continue;  // another candidate's, tried under its own name
    const Seconds after_last = mean_after_last(plan, kind.network, arrivals);
    kind.priced.push_back({&row, as_price(after_last, problem.collective, arrivals)});
  }
}

/// As it is where ranks may leave early and that costs little to know, and beside protocols.
/// Otherwise as if nobody were late: a broadcast's replay takes a millisecond for 48 ranks.
Seconds Selector::price_of(const CallKind& kind, const Steady& steady,
                           const std::vector<Seconds>& arrivals) {
  const Collective collective = steady.row->collective;
  const bool exact = kind.steady.size() > 1 || (rooted(collective) && combines(collective));
  const Seconds after_last =
      exact ? mean_after_last(steady.plan, kind.network, arrivals) : kind.balanced;
  return as_price(after_last, collective, arrivals);
}

/// Where nobody knows who will be late: under the arrivals of the last calls, if there were any.
Seconds Selector::usual_price(const CallKind& kind, std::size_t steady) {
  if (kind.lately.empty()) return balanced_time(kind.steady[steady].plan, kind.network);
  Seconds sum = 0;
  for (const std::vector<Seconds>& prices : kind.lately) sum += prices[steady];
  return sum / static_cast<double>(kind.lately.size());
}

/// The MPI library's collective is expected to do as well as the best balanced program.
std::vector<Selector::Candidate> Selector::candidates(const CallKind& kind, bool late) {
  std::vector<Candidate> all;
  if (late) all = kind.priced;
  for (std::size_t i = all.size(); i < kind.steady.size(); ++i) {
    all.push_back({kind.steady[i].row, usual_price(kind, i)});
  }
  all.insert(all.begin() + 1, {kind.native_row, all.front().predicted});
  return all;
}

std::optional<Selector::Candidate> Selector::to_try(const CallKind& kind,
                                                    const std::vector<Candidate>& all) {
  const Prices prices(kind.tracks);
  const Candidate& balanced = all[0];
  const Candidate& native = all[1];
  if (prices.uses(*balanced.row) < kTrials) return balanced;
  const bool hopeless =
      prices.uses(*native.row) > 0 && prices.factor(*native.row) > kHopeless * prices.usual();
  if (prices.uses(*native.row) < kTrials && !hopeless) return native;
  const Candidate best = cheapest(prices, all);
  for (const Candidate& other : all) {
    const Track* track = prices.find(other.row->name);
    const bool again = other.row != best.row && track != nullptr && track->known() &&
                       track->forgotten(kind.calls) &&
                       other.predicted * track->best() < kWorthAnother * prices.of(best);
    if (again) return other;
  }
  return std::nullopt;
}

Selector::Candidate Selector::best_of(const CallKind& kind, const std::vector<Candidate>& all) {
  const Prices prices(kind.tracks);
  const Candidate best = cheapest(prices, all);
  for (const Candidate& current : all) {
    const bool stays = current.row == kind.current && prices.of(best) > kGain * prices.of(current);
    if (stays) return current;
  }
  return best;
}

/// So that telling costs at most kTelling of the calls since it was last done.
bool Selector::worth_telling(const CallKind& kind, const Algorithm& row, const Problem& problem,
                             const Network& network) {
  const Prices prices(kind.tracks);
  const Track* track = prices.find(row.name);
  if (track == nullptr || track->uses() <= kTrials) return true;
  if (rooted(problem.collective)) return kind.untold + 1 >= kRootedEvery;
  const Seconds call = kind.balanced * track->factor(1, 0);
  const Seconds telling = ceil_log2(problem.ranks) * network.transfer(0) * prices.usual();
  return telling <= kTelling * call * static_cast<double>(kind.untold + 1);
}

Selector::Selection Selector::choose(const Problem& problem, const std::vector<Seconds>& arrivals,
                                     const Network& network) {
  CallKind& kind = kind_of(problem, network);
  ++kind.calls;
  const bool somebody = late(arrivals);
  if (somebody) price(kind, problem, arrivals);
  const std::vector<Candidate> all = candidates(kind, somebody);
  const std::optional<Candidate> trial = to_try(kind, all);
  const Candidate chosen = trial ? *trial : best_of(kind, all);
  if (!trial) kind.current = chosen.row;
  kind.tracks[chosen.row->name].use(kind.calls);
  const bool tells = !is_native(*chosen.row) && !rooted(problem.collective);
  const bool tell = tells || worth_telling(kind, *chosen.row, problem, network);
  kind.untold = tell ? 0 : kind.untold + 1;
  return {call_key(problem), chosen.row, chosen.predicted, tell};
}

/// What needs no estimate is held against its price for the arrivals that came, the others against
/// what they were chosen for: a wrong estimate is theirs.
Seconds Selector::promised(CallKind& kind, const Selection& selection,
                           const std::vector<Seconds>& arrivals) {
  std::vector<Seconds> prices;
  for (const Steady& steady : kind.steady) {
    prices.push_back(price_of(kind, steady, arrivals));
  }
  Seconds promised = is_native(*selection.row) ? prices.front() : selection.predicted;
  for (std::size_t i = 0; i < prices.size(); ++i) {
    if (kind.steady[i].row == selection.row) promised = prices[i];
  }
  kind.lately.push_back(std::move(prices));
  if (kind.lately.size() > kLately) kind.lately.pop_front();
  return promised;
}

void Selector::learn(const Selection& selection, Seconds taken,
                     const std::vector<Seconds>& arrivals) {
  const auto found = kinds_.find(selection.key);
  if (found == kinds_.end() || selection.row == nullptr) return;
  CallKind& kind = found->second;
  Seconds predicted = selection.predicted;
  if (rooted(selection.row->collective)) {
    if (arrivals.empty()) return;
    predicted = promised(kind, selection, arrivals);
    taken += waiting(arrivals);
  }
  if (!(predicted > 0)) return;
  const double usual = Prices(kind.tracks).usual();
  kind.tracks[selection.row->name].learn(taken / predicted, usual);
}

}  // namespace latecomer
