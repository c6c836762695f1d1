#include "simulate/simulate.hpp"

#include <algorithm>
#include <deque>
#include <numeric>

#include "simulate/outcome.hpp"
#include "simulate/virtual_network.hpp"

namespace latecomer {
namespace {

constexpr std::uint32_t kPollEvery = 1 << 14;  // completions: some milliseconds of work

/// A rank's protocol that also counts what was completed, so that long simulations can be stopped.
class Polled final : public Protocol {
 public:
  Polled(Protocol& protocol, const std::function<void()>& poll, std::uint32_t& completions)
      : protocol_(protocol), poll_(poll), completions_(completions) {}

  void start() override { protocol_.start(); }
  void arrive() override { protocol_.arrive(); }
  void completed(const Completion& completion) override {
    if (++completions_ % kPollEvery == 0) poll_();
    protocol_.completed(completion);
  }
  [[nodiscard]] bool listens() const override { return protocol_.listens(); }
  void told(Rank from, std::uint64_t word) override { protocol_.told(from, word); }
  [[nodiscard]] Status status() const override { return protocol_.status(); }
  [[nodiscard]] const std::string& failure() const override { return protocol_.failure(); }
  [[nodiscard]] std::string waiting_for() const override { return protocol_.waiting_for(); }

 private:
  Protocol& protocol_;
  const std::function<void()>& poll_;
  std::uint32_t& completions_;
};

}  // namespace

Seconds Simulation::last_exit() const { return *std::max_element(exits.begin(), exits.end()); }

Seconds Simulation::mean_elapsed() const {
  const Seconds in = std::accumulate(arrivals.begin(), arrivals.end(), 0.0);
  const Seconds out = std::accumulate(exits.begin(), exits.end(), 0.0);
  return (out - in) / static_cast<double>(exits.size());
}

Simulation simulate(const Parties& parties, const SimulationOptions& options) {
  Simulation result = begin_simulation(parties.size(), options);
  VirtualNetwork network(options, static_cast<Rank>(parties.size()));
  Protocols protocols;
  std::deque<Polled> polled;
  std::uint32_t completions = 0;
  for (std::size_t rank = 0; rank < parties.size(); ++rank) {
    const auto me = static_cast<Rank>(rank);
    protocols.push_back(parties[rank]->join(network.transport(me), options.engine));
    if (options.poll) {
      network.attach(me, polled.emplace_back(*protocols.back(), options.poll, completions));
    } else {
      network.attach(me, *protocols.back());
    }
  }
  network.run(result);
  note_failures(protocols, result);
  return result;
}

Simulation simulate(std::span<const Program> programs, const SimulationOptions& options) {
  return simulate(parties_of(programs, options.network.eager_elements(options.element_bytes)),
                  options);
}

}  // namespace latecomer
