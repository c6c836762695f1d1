#include "price/network_parts.hpp"

#include <algorithm>

#include "base/reproducible.hpp"
#include "price/price.hpp"

namespace latecomer {

Network scaled(Network network, const NetworkParts& logarithms) {
  network.alpha *= exp_of(logarithms[0]);
  network.handshake *= exp_of(logarithms[0]);
  network.beta *= exp_of(logarithms[1]);
  network.gamma *= exp_of(logarithms[2]);
  network.exchange = std::max(1.0, network.exchange * exp_of(logarithms[3]));
  return network;
}

NetworkParts scale_of(const Network& network, const Network& of) {
  const auto logarithm = [](double now, double before) {
    return now > 0 && before > 0 ? log_of(now / before) : 0;
  };
  return {logarithm(network.alpha, of.alpha), logarithm(network.beta, of.beta),
          logarithm(network.gamma, of.gamma), logarithm(network.exchange, of.exchange)};
}

NetworkParts shares_of_price(const Plan& plan, const Network& network, const Placement& placement) {
  constexpr double kStep = 0.01;
  NetworkParts shares{};
  const Seconds price = balanced_time(plan, network, placement);
  if (!(price > 0)) return shares;
  for (std::size_t part = 0; part < shares.size(); ++part) {
    NetworkParts step{};
    step[part] = kStep;
    shares[part] = (balanced_time(plan, scaled(network, step), placement) / price - 1) / kStep;
  }
  return shares;
}

}  // namespace latecomer
