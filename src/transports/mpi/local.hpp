// Work on one rank's own memory: combining and copying elements of any datatype.
#pragma once

#include <vector>

#include "transports/mpi/buffers.hpp"

namespace latecomer {

class LocalWork {
 public:
  /// At most `piece_limit` elements are given to MPI at once; `comm` is used for packing only.
  LocalWork(MPI_Comm comm, Count piece_limit) : comm_(comm), piece_limit_(piece_limit) {}

  /// result = left op right, kept where `into` says. Returns MPI's error code.
  int combine(const Buffers& buffers, MPI_Op op, const Slice& left, const Slice& right, Into into);
  int copy(const Buffers& buffers, const Slice& from, const Slice& to);

 private:
  int repack(const Buffers& buffers, const Slice& from, const Slice& to);

  MPI_Comm comm_;
  Count piece_limit_;
  std::vector<char> packed_;
};

}  // namespace latecomer
