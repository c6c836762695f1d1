// The layout of a datatype's elements in memory.
#pragma once

#include "base/types.hpp"
#include "transports/mpi/mpi.hpp"

namespace latecomer {

struct Layout {
  Layout() = default;
  explicit Layout(MPI_Datatype datatype);

  MPI_Datatype type = MPI_DATATYPE_NULL;
  Count size = 0;            // bytes of data in one element
  MPI_Aint extent = 0;       // from one element to the next
  MPI_Aint true_lb = 0;      // where the data of an element begin
  MPI_Aint true_extent = 0;  // the span of its data

  /// Elements follow each other without holes.
  [[nodiscard]] bool contiguous() const { return size == true_extent && size == extent; }
  /// No element reaches into the span of the next one.
  [[nodiscard]] bool separate() const { return extent >= true_extent; }
};

/// The combiner of a datatype: one of MPI_COMBINER_*.
[[nodiscard]] int combiner_of(MPI_Datatype type);
/// True if messages may be of this datatype. `comm` is ours: its errors are returned.
[[nodiscard]] bool is_committed(MPI_Datatype type, MPI_Comm comm);

/// True if elements follow each other without holes, and their data lie in the order in which MPI
/// sends them. Not detected for all such datatypes, for example not for subarrays.
[[nodiscard]] bool in_a_row(const Layout& layout);

}  // namespace latecomer
