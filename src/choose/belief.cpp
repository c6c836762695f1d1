#include "choose/belief.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/logarithm.hpp"

namespace latecomer {
namespace {

constexpr double kLeastRatio = 1e-3;  // no price is off by more
constexpr std::size_t kCosts = Belief::kParts - 1;
constexpr NetworkParts kUnknown = {Belief::kPart, Belief::kPart, Belief::kPart, Belief::kPart};

/// The chance that a Gaussian is below so many deviations, within 0.01.
double below(double deviations) { return 1 / (1 + exp_of(-1.702 * deviations)); }

/// The expected least of two positive numbers, whose means are 1 and exp(log_ratio) and the
/// logarithm of whose ratio has this deviation.
double least_of_two(double log_ratio, double deviation) {
  const double ratio = exp_of(log_ratio);
  if (deviation < 1e-9) return std::min(1.0, ratio);
  const double half = deviation / 2;
  return below(log_ratio / deviation - half) + ratio * below(-log_ratio / deviation - half);
}

}  // namespace

/// Most classes are only watched: while nothing is known, nothing is held.
Belief::Belief(const std::optional<NetworkParts>& corrected) {
  if (!corrected) return;
  resize(kParts);
  for (std::size_t i = 0; i < kParts; ++i) {
    for (std::size_t j = 0; j < kCosts && i < kCosts; ++j) covariance(i, j) = kNetwork * kNetwork;
    const double alone = i < kCosts ? kPart * kPart : kExchange * kExchange;
    const double off = (*corrected)[i];
    covariance(i, i) += std::min(alone, off * off + kChanged * kChanged);
  }
}

Belief Belief::of_network() const {
  Belief network = *this;
  if (!mean_.empty()) network.resize(kParts);
  network.names_.clear();
  network.known_.clear();
  network.chance_ = kChance * kChance;
  return network;
}

void Belief::resize(std::size_t size) {
  std::vector<double> other(size * size, 0);
  for (std::size_t i = 0; i < std::min(size, mean_.size()); ++i) {
    const auto row = covariance_.begin() + static_cast<std::ptrdiff_t>(i * mean_.size());
    std::copy_n(row, std::min(size, mean_.size()),
                other.begin() + static_cast<std::ptrdiff_t>(i * size));
  }
  mean_.resize(size, 0);
  covariance_ = std::move(other);
}

std::size_t Belief::index_of(std::string_view name, double deviation) {
  if (mean_.empty()) *this = Belief(kUnknown);
  const auto place = static_cast<std::size_t>(std::ranges::find(names_, name) - names_.begin());
  if (place == names_.size()) {
    names_.emplace_back(name);
    known_.push_back(false);
    resize(size() + 1);
    covariance_.back() = deviation * deviation;
  }
  return kParts + place;
}

NetworkParts Belief::corrections() const {
  NetworkParts all{};
  if (!mean_.empty()) std::copy_n(mean_.begin(), kParts, all.begin());
  return all;
}

NetworkParts Belief::deviations() const {
  if (mean_.empty()) return Belief(kUnknown).deviations();
  NetworkParts all{};
  for (std::size_t part = 0; part < kParts; ++part) {
    all[part] = std::sqrt(std::max(0.0, covariance_[part * (size() + 1)]));
  }
  return all;
}

void Belief::rebase(const NetworkParts& by) {
  for (std::size_t part = 0; part < kParts; ++part) mean_[part] -= by[part];
}

NetworkParts Belief::credible(NetworkParts claimed) {
  const auto within = [](double x, double most) { return std::clamp(x, -most, most); };
  const double common = std::accumulate(claimed.begin(), claimed.begin() + kCosts, 0.0) / kCosts;
  for (std::size_t part = 0; part < kCosts; ++part)
    claimed[part] = within(common, kMostCommon) + within(claimed[part] - common, kMostOff * kPart);
  claimed[kCosts] = within(claimed[kCosts], kMostOff * kExchange);
  return claimed;
}

double Belief::project(const Arm& arm, std::span<const double> values) const {
  double sum = values[arm.index];
  for (std::size_t part = 0; part < kParts; ++part) sum += arm.shares[part] * values[part];
  return sum;
}

std::vector<double> Belief::covariances_with(const Arm& arm) const {
  std::vector<double> all(size());
  for (std::size_t i = 0; i < size(); ++i) {
    all[i] = project(arm, std::span(covariance_).subspan(i * size(), size()));
  }
  return all;
}

double Belief::log_cost(const Arm& arm) const { return arm.log_price + project(arm, mean_); }

double Belief::deviation(const Arm& arm) const {
  return std::sqrt(std::max(0.0, project(arm, covariances_with(arm))));  // rounded
}

void Belief::learn(const Arm& arm, double ratio, bool first) {
  const std::vector<double> with = covariances_with(arm);
  const double believed = project(arm, with);
  const double variance = believed + chance_ + (first ? kFirst * kFirst : 0);
  const double most = kMostOff * std::sqrt(variance);
  // Costs are off by factors, but chance adds to them: its mean is that of costs, not of
  // logarithms.
  const double expected = project(arm, mean_);
  const double unknown = believed / variance;
  const double by_sum = ratio * exp_of(-expected) - 1;
  const double by_factor = ratio > kLeastRatio ? log_of(ratio) - expected : by_sum;
  const double off = std::clamp(unknown * by_factor + (1 - unknown) * by_sum, -most, most);
  if (!first) {
    const double by_chance = std::max(0.0, off * off - believed);
    chance_ = std::max(kLeastChance * kLeastChance, chance_ + kRenewal * (by_chance - chance_));
  }
  for (std::size_t i = 0; i < size(); ++i) {
    mean_[i] += with[i] / variance * off;
    for (std::size_t j = 0; j < size(); ++j) covariance(i, j) -= with[i] * with[j] / variance;
  }
  // A surprise: chance is greater than believed, or the candidate has changed.
  covariance(arm.index, arm.index) += kRenewal * std::max(0.0, off * off - variance);
  known_[arm.index - kParts] = true;
}

void Belief::forget(double calls) {
  for (std::size_t i = kParts; i < size(); ++i) covariance(i, i) += kForget * kForget * calls;
}

Belief::Choice Belief::choose(std::span<const Arm> arms, double horizon) const {
  std::vector<double> costs;
  for (const Arm& arm : arms) costs.push_back(log_cost(arm));
  Choice choice;
  choice.best = choice.chosen =
      static_cast<std::size_t>(std::ranges::min_element(costs) - costs.begin());
  double least = 0;
  for (std::size_t i = 0; i < arms.size(); ++i) {
    const std::vector<double> with = covariances_with(arms[i]);
    const double deviation = std::sqrt(project(arms[i], with) + chance_);
    // What the call shows moves the others, too: what counts is by how much they move apart.
    const double moves = project(arms[i], with);
    double afterwards = 1;
    for (std::size_t other = 0; other < arms.size(); ++other) {
      const bool pair = i == choice.best ? other != i : other == choice.best;
      if (!pair) continue;
      const std::size_t rival = i == choice.best ? other : i;
      const double apart = std::abs(moves - project(arms[other], with)) / deviation;
      afterwards = std::min(afterwards, least_of_two(costs[rival] - costs[choice.best], apart));
    }
    const double value = exp_of(costs[i] - costs[choice.best]) + horizon * afterwards;
    if (i == 0 || value < least) {
      least = value;
      choice.chosen = i;
    }
  }
  return choice;
}

}  // namespace latecomer
