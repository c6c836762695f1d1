// The costs of a network as factors that are believed to be off, and how far each makes up a price.
#pragma once

#include <array>

#include "algorithms/registry.hpp"

namespace latecomer {

/// A number for each: start-ups with handshakes, bytes moved, bytes combined, and how many times
/// longer messages take that meet another one.
using NetworkParts = std::array<double, 4>;

/// The network whose parts are so many times larger, given as logarithms. Exchanges stay at 1 or
/// more.
[[nodiscard]] Network scaled(Network network, const NetworkParts& logarithms);
/// By which logarithms `network` is scaled(of); 0 for costs that one of both does not have.
[[nodiscard]] NetworkParts scale_of(const Network& network, const Network& of);

/// The derivative of the logarithm of balanced_time() by that of each part; 0 for a plan that takes
/// no time.
[[nodiscard]] NetworkParts shares_of_price(const Plan& plan, const Network& network,
                                           const Placement& placement = {});

}  // namespace latecomer
