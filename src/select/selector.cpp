#include "select/selector.hpp"

#include <algorithm>

#include "patterns/powers.hpp"

namespace latecomer {
namespace {

constexpr std::uint64_t kTrials = 2;    // calls of each balanced candidate before any is judged
constexpr double kHopeless = 1.5;       // a first trial so much worse than the others is the last
constexpr int kDoubts = 2;              // of bad luck with an arrival-aware candidate
constexpr double kGain = 0.95;          // another one must be so much better to replace the current
constexpr double kWorthAnother = 1.25;  // as bad may a candidate be that is tried again
constexpr double kTelling = 0.01;       // of a call's time may telling of arrivals take

bool is_native(const Algorithm& row) { return row.kind == Kind::native; }

bool late(const std::vector<Seconds>& arrivals) {
  return !arrivals.empty() && *std::max_element(arrivals.begin(), arrivals.end()) >
                                  *std::min_element(arrivals.begin(), arrivals.end());
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
  kind.balanced_row = &find_algorithm(problem.collective, "fastest");
  kind.current = kind.balanced_row;  // where both are alike
  kind.balanced =
      mean_after_last(make_plan(*kind.balanced_row, problem, {}, {{}, network}), network, {});
  if (kinds_.size() <= kMost) return kind;
  kinds_.erase(std::min_element(kinds_.begin(), kinds_.end(), [](const auto& a, const auto& b) {
    return a.second.used < b.second.used;
  }));
  return kind;
}

void Selector::price(CallKind& kind, const Problem& problem, const std::vector<Seconds>& arrivals,
                     const Network& network) {
  if (kind.arrivals == arrivals) return;
  kind.arrivals = arrivals;
  kind.aware.clear();
  for (const Algorithm& row : registry(problem.collective)) {
    const bool candidate =
        row.time_after_last != nullptr && row.arrival_aware && accepts(row, problem, nullptr);
    if (!candidate) continue;
    const Plan plan = make_plan(row, problem, {}, {arrivals, network});
    if (plan.algorithm != row.name) continue;  // another candidate's, tried under its own name
    kind.aware.push_back({&row, mean_after_last(plan, network, arrivals)});
  }
}

/// The MPI library's collective is expected to do as well as the best balanced program.
std::vector<Selector::Candidate> Selector::candidates(const CallKind& kind, bool late) {
  std::vector<Candidate> all{{kind.balanced_row, kind.balanced}, {kind.native_row, kind.balanced}};
  if (late) all.insert(all.end(), kind.aware.begin(), kind.aware.end());
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
  if (somebody) price(kind, problem, arrivals, network);
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

void Selector::learn(const Selection& selection, Seconds taken) {
  const auto found = kinds_.find(selection.key);
  if (found == kinds_.end() || selection.row == nullptr || !(selection.predicted > 0)) return;
  auto& tracks = found->second.tracks;
  const double usual = Prices(tracks).usual();
  tracks[selection.row->name].learn(taken / selection.predicted, usual);
}

}  // namespace latecomer
