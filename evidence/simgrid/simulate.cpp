#include "simulate.hpp"

#include <algorithm>
#include <deque>
#include <map>

#include "base/error.hpp"
#include "simulate/simulation.hpp"
#include "transport.hpp"

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

namespace {

namespace s4u = simgrid::s4u;

/// A rank's part in the call: the body of its actor.
void take_part(Protocol& protocol, SimGridTransport& transport, Seconds arrival) {
  if (protocol.uses_control()) transport.receive_all_control();
  protocol.start();
  while (transport.wait(protocol, arrival)) {
  }
  protocol.arrive();
  while (protocol.status() == Status::running) {
    transport.wait(protocol, SimGridTransport::kNever);
  }
}

Memory* memory_of(const SimulationOptions& options, std::size_t rank) {
  return options.memory == nullptr ? nullptr : &(*options.memory)[rank];
}

class Ranks {
 public:
  Ranks(const Executors& executors, const SimulationOptions& options, Simulation& result)
      : result_(result) {
    for (std::size_t rank = 0; rank < executors.size(); ++rank) {
      const RankContext& context = executors[rank]->context();
      SimGridNode* const node = context.flags > 0 ? &nodes_[context.node] : nullptr;
      transports_.emplace_back(static_cast<Rank>(rank), context.plan_hash, options, actors_,
                               memory_of(options, rank), node);
      protocols_.push_back(executors[rank]->create_protocol(transports_.back(), options.engine));
    }
  }

  void start_on(const std::vector<s4u::Host*>& hosts) {
    for (std::size_t rank = 0; rank < protocols_.size(); ++rank) {
      const std::string name = "rank " + std::to_string(rank);
      actors_.push_back(s4u::Actor::create(name, hosts[rank], [this, rank] { run(rank); }));
    }
  }

  [[nodiscard]] const Protocols& protocols() const { return protocols_; }

 private:
  void run(std::size_t rank) {
    try {
      take_part(*protocols_[rank], transports_[rank], result_.arrivals[rank]);
    } catch (const simgrid::Exception& error) {
      if (result_.failure.empty()) {
        result_.failure = "rank " + std::to_string(rank) + ": SimGrid says: " + error.what();
      }
      return;
    }
    if (protocols_[rank]->status() == Status::done) result_.exits[rank] = s4u::Engine::get_clock();
  }

  Simulation& result_;
  std::vector<s4u::ActorPtr> actors_;
  std::map<Rank, SimGridNode> nodes_;
  std::deque<SimGridTransport> transports_;
  Protocols protocols_;
};

}  // namespace

Simulation simulate_on_simgrid(const s4u::Engine& simgrid, const std::vector<s4u::Host*>& hosts,
                               const Executors& executors, const SimulationOptions& options) {
  Simulation result = begin_simulation(executors.size(), options);
  Ranks ranks(executors, options, result);
  ranks.start_on(hosts);
  simgrid.run();
  note_failures(ranks.protocols(), result);
  return result;
}

}  // namespace latecomer
