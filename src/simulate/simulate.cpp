#include "simulate/simulate.hpp"

#include <algorithm>
#include <numeric>

#include "simulate/outcome.hpp"
#include "simulate/virtual_network.hpp"

namespace latecomer {
namespace {

constexpr std::uint32_t kPollEvery = 1 << 14;  // completions: some milliseconds of work

/// A rank's engine that also counts what was completed, so that long simulations can be stopped.
class Polled final : public Protocol {
 public:
  Polled(Engine& engine, const std::function<void()>& poll, std::uint32_t& completions)
      : engine_(engine), poll_(poll), completions_(completions) {}

  void start() override { engine_.start(); }
  void arrive() override { engine_.arrive(); }
  void completed(const Completion& completion) override {
    if (++completions_ % kPollEvery == 0) poll_();
    engine_.completed(completion);
  }
  [[nodiscard]] Status status() const override { return engine_.status(); }
  [[nodiscard]] const std::string& failure() const override { return engine_.failure(); }
  [[nodiscard]] std::string waiting_for() const override { return engine_.waiting_for(); }

 private:
  Engine& engine_;
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

Simulation simulate(std::span<const Program> programs, const SimulationOptions& options) {
  const std::size_t ranks = programs.size();
  Simulation result = begin_simulation(ranks, options);
  VirtualNetwork network(options, static_cast<Rank>(ranks));
  std::deque<ProgramIndex> indices;
  std::deque<Engine> engines;
  std::deque<Polled> polled;
  std::uint32_t completions = 0;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const auto me = static_cast<Rank>(rank);
    const ProgramIndex& index = indices.emplace_back(options.index(programs[rank]));
    engines.emplace_back(index, network.transport(me), options.engine);
    if (options.poll) {
      network.attach(me, polled.emplace_back(engines.back(), options.poll, completions));
    } else {
      network.attach(me, engines.back());
    }
  }
  network.run(result);
  note_failures(engines, result);
  return result;
}

}  // namespace latecomer
