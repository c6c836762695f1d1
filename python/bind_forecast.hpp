// latecomer._core: the forecast of arrivals, for python/latecomer/atlas.
#pragma once

#include <nanobind/nanobind.h>

namespace latecomer {

void bind_forecast(nanobind::module_& module);

}  // namespace latecomer
