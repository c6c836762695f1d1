// Elements of any datatype as bytes in a row, and back.
#pragma once

#include "transports/mpi/buffers.hpp"

namespace latecomer {

/// `count` elements of the slice from `offset` on.
struct Part {
  const Slice& slice;
  Count offset;
  int count;
};

[[nodiscard]] inline std::size_t packed_bytes(const Layout& layout, int count) {
  return static_cast<std::size_t>(layout.size) * static_cast<std::size_t>(count);
}

/// `bytes` holds packed_bytes(); `comm` is MPI's formality. Return MPI's code.
int pack(const Buffers& buffers, const Part& part, char* bytes, MPI_Comm comm);
int unpack(const Buffers& buffers, const char* bytes, const Part& part, MPI_Comm comm);

}  // namespace latecomer
