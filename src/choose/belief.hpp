// What is believed of the costs of candidates, and the rule that chooses by it.
//
// The cost of a call is by how much it delays the program. The logarithm of a candidate's cost by
// its price is a sum: how far each of the network's costs is off, as far as it makes up the price;
// how far the candidate itself is off; and chance. All are Gaussian. So one call says something
// about all candidates (docs/decisions/0016-selection.md).
//
// All ranks compute the same bits (base/reproducible.hpp).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "price/price.hpp"

namespace latecomer {

class Belief {
 public:
  static constexpr std::size_t kParts = std::tuple_size_v<NetworkParts>;

  // Standard deviations of logarithms: 0.3 is a factor of 1.35.
  static constexpr double kNetwork = 5;     // start-ups and bytes together
  static constexpr double kPart = 0.5;      // each of them by itself
  static constexpr double kExchange = 0.1;  // of messages that meet another one
  static constexpr double kProgram = 0.05;  // a program's cost by its price
  static constexpr double kAdaptive = 0.3;  // the same of protocols and arrival-aware rows
  static constexpr double kLibrary = 1.0;   // the library's cost by the best program's price
  static constexpr double kChance = 0.15;   // a call by others of the same candidate, at first
  static constexpr double kLeastChance = 0.03;
  static constexpr double kFirst = 0.5;       // the first call by the later ones
  static constexpr double kRenewal = 0.125;   // part of what is known of chance that a call renews
  static constexpr double kForget = 0.005;    // that each call adds to what is known
  static constexpr double kChanged = 0.25;    // each of the network's costs since an earlier job
  static constexpr double kMostCommon = 4.6;  // a factor of 100, which wisdom may claim at most
  static constexpr double kMostOff = 3;  // calls that are off by more deviations count as so many

  /// A candidate at a price.
  struct Arm {
    std::size_t index = 0;
    double log_price = 0;
    NetworkParts shares{};  // of the network's parts in the price
  };

  /// The index of a candidate, which is new or known by its name. `deviation`: of a new one.
  std::size_t index_of(std::string_view name, double deviation);
  /// Notes that a call of the arm cost so many times its price; chance may make that negative.
  void learn(const Arm& arm, double ratio, bool first = false);
  /// Notes that a candidate may have changed, by this deviation.
  void doubt(const Arm& arm, double deviation) {
    covariance(arm.index, arm.index) += deviation * deviation;
  }
  /// Notes that so many calls have passed.
  void forget(double calls);
  /// By how much each part of the network is believed to be off: logarithms.
  [[nodiscard]] NetworkParts corrections() const;
  /// Prices have changed with the parts: from now on these are off by so much less.
  void rebase(const NetworkParts& by);
  /// The deviations of these. Not while nothing is known.
  [[nodiscard]] NetworkParts deviations() const;
  /// Takes over what another belief says about the network. Before the first candidate.
  void inherit(const Belief& other);
  /// Begins with prices that an earlier job has corrected to these deviations. Since then costs may
  /// have changed, by kChanged each, and start-ups and bytes together by as much as at first: the
  /// first call shows that, so what counts is how they are related. Before the first candidate.
  void begin(const NetworkParts& deviations);
  /// The part of a file's factors that is believed, as logarithms: start-ups and bytes are together
  /// off by kMostCommon at most, and each part by kMostOff of its deviations at first.
  [[nodiscard]] static NetworkParts credible(NetworkParts claimed);
  /// True until something was inherited, begun with, or asked about.
  [[nodiscard]] bool empty() const { return mean_.empty(); }
  /// Returns true if the candidate has been learnt about.
  [[nodiscard]] bool knows(std::string_view name) const;
  /// False for an arm of an earlier belief: nothing can be learnt of it.
  [[nodiscard]] bool has(const Arm& arm, std::string_view name) const {
    return arm.index >= kParts && arm.index < size() && names_[arm.index - kParts] == name;
  }
  /// The logarithm of the expected cost.
  [[nodiscard]] double log_cost(const Arm& arm) const;

  /// The deviation of the logarithm of the cost.
  [[nodiscard]] double deviation(const Arm& arm) const;

  struct Choice {
    std::size_t best = 0;    // the least expected cost
    std::size_t chosen = 0;  // the least cost of this call and, knowing what it will have shown, of
                             // the later ones
  };
  /// Chooses among arms, of which there is one at least. `horizon`: the number of later calls.
  [[nodiscard]] Choice choose(std::span<const Arm> arms, double horizon) const;

 private:
  [[nodiscard]] std::size_t size() const { return mean_.size(); }
  [[nodiscard]] double& covariance(std::size_t i, std::size_t j) {
    return covariance_[i * size() + j];
  }
  [[nodiscard]] double covariance(std::size_t i, std::size_t j) const {
    return covariance_[i * size() + j];
  }
  /// The covariances of all that is believed with the logarithm of the arm's cost.
  [[nodiscard]] std::vector<double> covariances_with(const Arm& arm) const;
  /// The part of these values that the logarithm of the arm's cost holds.
  [[nodiscard]] double project(const Arm& arm, std::span<const double> values) const;

  std::vector<std::string> names_;  // of candidates
  std::vector<bool> known_;
  double chance_ = kChance * kChance;  // variance
  std::vector<double> mean_;           // of the parts, then of the candidates
  std::vector<double> covariance_;     // of the same, by rows
};

}  // namespace latecomer
