// Fortran's MPI_IN_PLACE and MPI_BOTTOM, which are addresses of variables.
#pragma once

namespace latecomer::fortran {

/// C's value for a buffer that a Fortran program passes.
[[nodiscard]] void* buffer(const void* address);

}  // namespace latecomer::fortran
