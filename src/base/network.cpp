#include "base/network.hpp"

#include <set>

#include "base/error.hpp"
#include "base/parse.hpp"

namespace latecomer {
namespace {

constexpr Count kMaxPorts = 1024;  // more than any machine has; each is simulated

}  // namespace

Network parse_network(std::string_view text) {
  Network network;
  if (text.empty()) return network;
  std::set<std::string_view> given;
  for (const std::string_view part : split(text, ',')) {
    const auto at = part.find('=');
    const std::string_view name = part.substr(0, at);
    const std::string_view value = at == std::string_view::npos ? "" : part.substr(at + 1);
    const std::string what = "network " + std::string(name);
    if (!given.insert(name).second) throw Error(what, std::string(value), "given once");
    if (name == "alpha") {
      network.alpha = parse_seconds(what, value);
    } else if (name == "beta") {
      network.beta = parse_seconds(what, value);
    } else if (name == "gamma") {
      network.gamma = parse_seconds(what, value);
    } else if (name == "eager") {
      network.eager_limit = parse_bytes(what, value);
    } else if (name == "buffer") {
      network.buffer = parse_bytes(what, value);
    } else if (name == "handshake") {
      network.handshake = parse_seconds(what, value);
    } else if (name == "ports") {
      network.ports = parse_count(what, value);
    } else if (name == "exchange") {
      network.exchange = parse_number(what, value);
    } else if (name == "per_node") {
      network.per_node = parse_rank(what, value, 1);
    } else if (name == "local_alpha") {
      network.local_alpha = parse_seconds(what, value);
    } else if (name == "local_beta") {
      network.local_beta = parse_seconds(what, value);
    } else if (name == "memory") {
      network.memory = parse_seconds(what, value);
    } else if (name == "burst") {
      network.burst = parse_bytes(what, value);
    } else if (name == "jitter") {
      network.jitter = parse_number(what, value);
    } else if (name == "seed") {
      network.seed = static_cast<std::uint64_t>(parse_count(what, value));
    } else {
      throw Error("network", std::string(part),
                  "name=value with a name of alpha, beta, gamma, eager, buffer, handshake, ports, "
                  "exchange, "
                  "per_node, local_alpha, local_beta, memory, burst, jitter, seed");
    }
  }
  if (network.ports < 1 || network.ports > kMaxPorts) {
    throw Error("network ports", std::to_string(network.ports),
                "1 to " + std::to_string(kMaxPorts));
  }
  if (network.exchange < 1) {
    throw Error("network exchange", format_number(network.exchange), "1 or more");
  }
  if (network.jitter < 0) throw Error("network jitter", format_number(network.jitter), "0 or more");
  return network;
}

std::string to_string(const Network& network) {
  const auto seconds = [](Seconds value) { return format_number(value) + "s"; };
  return "alpha=" + seconds(network.alpha) + ",beta=" + seconds(network.beta) +
         ",gamma=" + seconds(network.gamma) + ",eager=" + std::to_string(network.eager_limit) +
         (network.buffer > 0 ? ",buffer=" + std::to_string(network.buffer) : "") +
         ",handshake=" + seconds(network.handshake) + ",ports=" + std::to_string(network.ports) +
         ",exchange=" + format_number(network.exchange) +
         ",per_node=" + std::to_string(network.per_node) +
         ",local_alpha=" + seconds(network.local_alpha) +
         ",local_beta=" + seconds(network.local_beta) +
         (network.memory > 0 ? ",memory=" + seconds(network.memory) : "") +
         ",burst=" + std::to_string(network.burst) + ",jitter=" + format_number(network.jitter) +
         ",seed=" + std::to_string(network.seed);
}

}  // namespace latecomer
