#include "transports/simgrid/platform.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace latecomer {

namespace s4u = simgrid::s4u;

SimGridPlatform::SimGridPlatform(s4u::Engine& engine, const std::string& file) : file_(file) {
  // Engine::get_all_hosts sorts by name: node-10 before node-2.
  s4u::Host::on_creation_cb([this](s4u::Host& host) { hosts_.push_back(&host); });
  try {
    engine.load_platform(file);
  } catch (const std::exception& error) {
    throw Error("platform", file, std::string("a SimGrid platform; SimGrid says: ") + error.what());
  }
}

std::vector<s4u::Host*> SimGridPlatform::place(Rank ranks, Rank per_node) const {
  const auto room = static_cast<Count>(hosts_.size()) * per_node;
  if (ranks > room) {
    throw Error("ranks", std::to_string(ranks),
                "at most " + std::to_string(room) + ", since " + file_ + " has " +
                    std::to_string(hosts_.size()) + " hosts and each gets " +
                    std::to_string(per_node) + " (--per-node)");
  }
  std::vector<s4u::Host*> places;
  for (Rank rank = 0; rank < ranks; ++rank) {
    places.push_back(hosts_[static_cast<std::size_t>(rank / per_node)]);
  }
  return places;
}

std::vector<s4u::Host*> SimGridPlatform::place(const Placement& placement) const {
  std::vector<s4u::Host*> places;
  for (const Rank node : placement) {
    if (static_cast<std::size_t>(node) >= hosts_.size()) {
      throw Error("nodes of the placement", std::to_string(std::ranges::max(placement) + 1),
                  "at most " + std::to_string(hosts_.size()) + ", the hosts of " + file_);
    }
    places.push_back(hosts_[static_cast<std::size_t>(node)]);
  }
  return places;
}

}  // namespace latecomer
