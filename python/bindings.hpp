// The parts of the module latecomer._core, and what they share.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <vector>

#include "base/threads.hpp"
#include "base/types.hpp"

namespace latecomer {

using Arrivals = std::vector<Seconds>;

/// Ends the core's work with the exception of a signal's handler, such as KeyboardInterrupt.
inline void check_signals() {
  const nanobind::gil_scoped_acquire python;
  if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
}

/// Runs work that may take long: it hears signals, and Python's other threads run meanwhile.
template <typename Work>
auto interruptible(Work&& work) {
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kBetween(50);
  auto next = Clock::now() + kBetween;
  const Interruptible signals([&next] {
    if (Clock::now() < next) return;
    check_signals();
    next = Clock::now() + kBetween;
  });
  const nanobind::gil_scoped_release others_run;
  return work();
}

/// The forecast of arrivals, for python/latecomer/atlas.
void bind_forecast(nanobind::module_& module);
/// The origin of waiting, for python/latecomer/report/analysis/origin.py.
void bind_origin(nanobind::module_& module);
/// Plans: their programs, prices, checks and simulations.
void bind_plan(nanobind::module_& module);
/// Rehearsals: series of calls on the virtual network.
void bind_rehearsal(nanobind::module_& module);
/// The calls of a trace, for python/latecomer/report/trace and analysis.
void bind_trace(nanobind::module_& module);

}  // namespace latecomer
