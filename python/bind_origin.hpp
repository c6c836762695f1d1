// latecomer._core: who is the origin of waiting, for python/latecomer/report/analysis/origin.py.
#pragma once

#include <nanobind/nanobind.h>

namespace latecomer {

void bind_origin(nanobind::module_& module);

}  // namespace latecomer
