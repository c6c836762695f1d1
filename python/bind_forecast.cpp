// latecomer._core: the forecast of arrivals, for python/latecomer/atlas.
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include "base/error.hpp"
#include "bindings.hpp"
#include "forecast/forecast.hpp"

namespace latecomer {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

using Keys = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Rows = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

/// The arrivals that a communicator expects in each of its calls, given those before it: seconds
/// after the first arrival; empty: nothing that it trusts. Ranks count as having left each call
/// together.
std::vector<std::vector<Seconds>> forecasts_of(const Keys& keys, const Rows& arrivals) {
  const std::size_t calls = arrivals.shape(0);
  const std::size_t ranks = arrivals.shape(1);
  if (keys.size() != calls) throw Error("keys", std::to_string(keys.size()), "one for each call");
  Forecasts forecasts(static_cast<Rank>(ranks));
  std::vector<std::vector<Seconds>> expected;
  expected.reserve(calls);
  for (std::size_t call = 0; call < calls; ++call) {
    const HistoryKey history = forecasts.enter(static_cast<CallKey>(keys.data()[call]));
    Estimate next = forecasts.next(history);
    expected.push_back(next.trusted ? std::move(next.arrivals) : std::vector<Seconds>{});
    const double* const row = arrivals.data() + call * ranks;
    forecasts.observe(history, {.arrivals = {row, row + ranks}, .exits_before = {}});
  }
  return expected;
}

}  // namespace

void bind_forecast(nb::module_& module) {
  module.def("forecasts_of", forecasts_of, "keys"_a, "arrivals"_a);
}

}  // namespace latecomer
