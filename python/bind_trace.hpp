// latecomer._core: the calls of a trace, for python/latecomer/report/trace and analysis.
#pragma once

#include <nanobind/nanobind.h>

namespace latecomer {

void bind_trace(nanobind::module_& module);

}  // namespace latecomer
