#include "choose/belief.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/reproducible.hpp"

namespace latecomer {
namespace {

constexpr double kLeastRatio = 1e-3;  // no price is off by more
// The first parts, start-ups and bytes, are the network's; combining, the third, is the
// processors'.
constexpr std::size_t kOfLinks = 2;
constexpr std::size_t kCosts = Belief::kParts - 1;

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

/// The covariance of two of the network's parts by what is common to the costs of its links.
double together(std::size_t i, std::size_t j) {
  return i < kOfLinks && j < kOfLinks ? Belief::kNetwork * Belief::kNetwork : 0;
}

/// The variance of a part of the network by itself, at first.
double alone(std::size_t part) {
  return part < kCosts ? Belief::kPart * Belief::kPart : Belief::kExchange * Belief::kExchange;
}

}  // namespace

std::size_t Belief::index_of(std::string_view name, double deviation) {
  const auto found = std::ranges::find(names_, name);
  if (found != names_.end()) return kParts + static_cast<std::size_t>(found - names_.begin());
  const std::size_t before = size();
  const std::size_t now = kParts + names_.size() + 1;
  std::vector<double> wider(now * now, 0);
  for (std::size_t i = 0; i < now; ++i) {
    for (std::size_t j = 0; j < now; ++j) {
      double& to = wider[i * now + j];
      if (i < before && j < before) {
        to = covariance(i, j);
      } else if (i < kParts && j < kParts) {
        to = together(i, j) + (i == j ? alone(i) : 0);
      }
    }
  }
  wider.back() = deviation * deviation;
  covariance_ = std::move(wider);
  mean_.resize(now, 0);
  names_.emplace_back(name);
  known_.push_back(false);
  return now - 1;
}

NetworkParts Belief::corrections() const {
  NetworkParts all{};
  if (!mean_.empty()) std::copy_n(mean_.begin(), kParts, all.begin());
  return all;
}

NetworkParts Belief::deviations() const {
  NetworkParts all{};
  for (std::size_t part = 0; part < kParts; ++part) {
    all[part] = std::sqrt(std::max(0.0, covariance(part, part)));
  }
  return all;
}

void Belief::rebase(const NetworkParts& by) {
  for (std::size_t part = 0; part < kParts; ++part) mean_[part] -= by[part];
}

void Belief::inherit(const Belief& other) {
  if (other.mean_.empty()) return;
  mean_.assign(other.mean_.begin(), other.mean_.begin() + kParts);
  covariance_.assign(kParts * kParts, 0);
  for (std::size_t i = 0; i < kParts; ++i) {
    for (std::size_t j = 0; j < kParts; ++j) covariance(i, j) = other.covariance(i, j);
  }
}

void Belief::begin(const NetworkParts& deviations) {
  mean_.assign(kParts, 0);
  covariance_.assign(kParts * kParts, 0);
  for (std::size_t i = 0; i < kParts; ++i) {
    for (std::size_t j = 0; j < kParts; ++j) covariance(i, j) = together(i, j);
    covariance(i, i) += std::min(alone(i), deviations[i] * deviations[i] + kChanged * kChanged);
  }
}

NetworkParts Belief::credible(NetworkParts claimed) {
  const auto within = [](double x, double most) { return std::clamp(x, -most, most); };
  const double common =
      std::accumulate(claimed.begin(), claimed.begin() + kOfLinks, 0.0) / kOfLinks;
  for (std::size_t part = 0; part < kCosts; ++part) {
    const double shared = part < kOfLinks ? common : 0;
    claimed[part] = within(shared, kMostCommon) + within(claimed[part] - shared, kMostOff * kPart);
  }
  claimed[kCosts] = within(claimed[kCosts], kMostOff * kExchange);
  return claimed;
}

bool Belief::knows(std::string_view name) const {
  const auto found = std::ranges::find(names_, name);
  return found != names_.end() && known_[static_cast<std::size_t>(found - names_.begin())];
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
