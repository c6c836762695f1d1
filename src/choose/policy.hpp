// The settings of a communicator that decide about its calls: equal on all ranks, by agreement or
// by comparison.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "algorithms/registry.hpp"
#include "rules/rules.hpp"

namespace latecomer {

/// Adds a handshake to a network that names none: MPI libraries ask the receiver before they send a
/// long message, which takes two start-ups.
[[nodiscard]] constexpr Network with_handshake(Network network) {
  if (network.handshake == 0) network.handshake = 2 * network.alpha;
  return network;
}

/// The network that is assumed in reproducible mode.
inline constexpr Network kReproducible = with_handshake({});

/// True for `auto`, unless it draws at random.
[[nodiscard]] inline bool is_automatic(const Choice& choice) {
  return choice.algorithm->automatic() && seed_of(choice) == 0;
}

/// Throws Error for a choice that draws at random: it is another one in each call.
void check_reproducible(const Choice& choice);

struct Policy {
  Policy() {
    for (const Collective each : all_collectives()) {
      choice(each) = {&native_row(each), {}};
    }
  }

  std::array<Choice, kCollectives> choices;  // by collective
  Network network;                           // as set by this rank
  bool reproducible = false;                 // order and choice depend on the problem alone
  bool online = false;                       // arrivals are forecast from earlier calls
  std::vector<Seconds> given;                // arrivals that the program expects
  std::shared_ptr<const UserRules> rules;    // they refine `auto`; null: none

  [[nodiscard]] Choice& choice(Collective collective) {
    return choices[static_cast<std::size_t>(collective)];
  }
  [[nodiscard]] const Choice& choice(Collective collective) const {
    return choices[static_cast<std::size_t>(collective)];
  }
  [[nodiscard]] bool automatic(Collective collective) const {
    return is_automatic(choice(collective));
  }
  /// Returns true if both policies decide alike.
  [[nodiscard]] bool operator==(const Policy& other) const = default;
};

}  // namespace latecomer
