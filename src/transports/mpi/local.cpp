#include "transports/mpi/local.hpp"

#include <algorithm>
#include <cstring>

namespace latecomer {
namespace {

constexpr Count kPackedBytes = 65536;

}  // namespace

int LocalWork::combine(const Buffers& buffers, MPI_Op op, const Slice& left, const Slice& right,
                       Into into) {
  // MPI_Reduce_local computes inout = in op inout. Into the left operand is for commutative
  // operators only.
  const Slice& in = into == Into::right ? left : right;
  const Slice& inout = into == Into::right ? right : left;
  const Count piece = buffers.alike(left, right) ? piece_limit_ : 1;
  for (Count done = 0; done < in.count; done += piece) {
    const int count = static_cast<int>(std::min(piece, in.count - done));
    const int code = PMPI_Reduce_local(buffers.address(in, done), buffers.address(inout, done),
                                       count, buffers.element(), op);
    if (code != MPI_SUCCESS) return code;
  }
  return MPI_SUCCESS;
}

int LocalWork::copy(const Buffers& buffers, const Slice& from, const Slice& to) {
  const Layout& layout = buffers.layout();
  if (!layout.contiguous()) return repack(buffers, from, to);
  const char* const source = static_cast<char*>(buffers.address(from)) + layout.true_lb;
  char* const target = static_cast<char*>(buffers.address(to)) + layout.true_lb;
  std::memcpy(target, source, static_cast<std::size_t>(from.count * layout.size));
  return MPI_SUCCESS;
}

/// Packing leaves the holes between data as they are; no message can be mistaken for another.
int LocalWork::repack(const Buffers& buffers, const Slice& from, const Slice& to) {
  const Count fitting = std::max<Count>(1, kPackedBytes / buffers.layout().size);
  const Count piece = std::min({fitting, piece_limit_, from.count});
  int room = 0;
  int code = PMPI_Pack_size(static_cast<int>(piece), buffers.type(from), comm_, &room);
  packed_.resize(static_cast<std::size_t>(room));
  for (Count done = 0; done < from.count && code == MPI_SUCCESS; done += piece) {
    const int count = static_cast<int>(std::min(piece, from.count - done));
    int end = 0;
    code = PMPI_Pack(buffers.address(from, done), count, buffers.type(from), packed_.data(), room,
                     &end, comm_);
    if (code != MPI_SUCCESS) return code;
    int begin = 0;
    code = PMPI_Unpack(packed_.data(), end, &begin, buffers.address(to, done), count,
                       buffers.type(to), comm_);
  }
  return code;
}

}  // namespace latecomer
