// What is believed of the costs of candidates, and the rule that chooses by it.
//
// The cost of a call is by how much it delays the program. The logarithm of a candidate's cost by
// its price is a sum: how far each of the network's costs is off, as far as it makes up the price;
// how far the candidate itself is off; and chance. All are Gaussian. So one call says something
// about all candidates (docs/decisions/0016-selection.md).
//
// Nothing but basic arithmetic is used, so that all processors of one kind of instructions compute
// the same bits, whatever their mathematical libraries choose.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace latecomer {

/// The logarithm of a positive number, and its inverse, to 1e-10; the same bits everywhere.
[[nodiscard]] double log_of(double value);
[[nodiscard]] double exp_of(double power);

class Belief {
 public:
  /// Of the costs of a network: start-ups, bytes moved, bytes combined; and by how many times
  /// longer messages take that meet another one.
  static constexpr std::size_t kParts = 4;
  using Shares = std::array<double, kParts>;

  // Standard deviations of logarithms: 0.3 is a factor of 1.35.
  static constexpr double kNetwork = 2.5;   // all costs of the network together
  static constexpr double kPart = 0.5;      // each of them by itself
  static constexpr double kExchange = 0.2;  // of messages that meet another one
  static constexpr double kProgram = 0.15;  // a program's cost by its price
  static constexpr double kFollows = 0.3;   // the same of what follows arrivals
  static constexpr double kLibrary = 1.0;   // the library's cost by the best program's price
  static constexpr double kChance = 0.15;   // a call by others of the same candidate, at first
  static constexpr double kLeastChance = 0.03;
  static constexpr double kFirst = 0.5;      // the first call by the later ones
  static constexpr double kRenewal = 0.125;  // part of what is known of chance that a call renews
  static constexpr double kForget =
      0.005;                             // what is known gets as much less certain with each call
  static constexpr double kMostOff = 3;  // calls that are off by more deviations count as so many

  /// A candidate at a price.
  struct Arm {
    std::size_t place = 0;
    double log_price = 0;
    Shares shares{};  // of the price: what it grows by where the part does
  };

  /// The place of a candidate, which is new or known by its name. `deviation`: of a new one.
  std::size_t place(std::string_view name, double deviation);
  /// Notes that a call of the arm cost so many times its price; chance may make that negative.
  void learn(const Arm& arm, double ratio, bool first = false);
  /// Notes that so many calls have passed.
  void forget(double calls);
  /// By how much each part is believed to be off: logarithms.
  [[nodiscard]] Shares off() const;
  /// Prices have changed with the parts: from now on these are off by so much less.
  void rebase(const Shares& by);
  /// Takes over what another belief says about the network. Before the first candidate.
  void inherit(const Belief& other);
  /// Returns true if the candidate has been learnt about.
  [[nodiscard]] bool knows(std::string_view name) const;
  /// The logarithm of the expected cost.
  [[nodiscard]] double log_cost(const Arm& arm) const;

  /// The deviation of the logarithm of the cost.
  [[nodiscard]] double doubt(const Arm& arm) const;

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
  /// Of all that is believed, with the logarithm of the arm's cost.
  [[nodiscard]] std::vector<double> covariances_with(const Arm& arm) const;
  [[nodiscard]] double seen(const Arm& arm, std::span<const double> values) const;

  std::vector<std::string> names_;  // of candidates
  std::vector<bool> known_;
  double chance_ = kChance * kChance;  // variance
  std::vector<double> mean_;           // of the parts, then of the candidates
  std::vector<double> covariance_;     // of the same, by rows
};

}  // namespace latecomer
