#include "transports/mpi/local.hpp"

#include <algorithm>
#include <cstring>

#include "base/arithmetic.hpp"
#include "transports/mpi/packing.hpp"
#include "transports/mpi/user_code.hpp"

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
  // Elements that overlap lie further apart in scratch than operators expect of several at once.
  // Then they are combined one by one in all buffers, since that may give other bits.
  const Count piece = buffers.layout().separate() ? piece_limit_ : 1;
  for (Count done = 0; done < in.count; done += piece) {
    const int count = static_cast<int>(std::min(piece, in.count - done));
    const OwnArithmetic::Programs arithmetic;
    const int code = UserCode::run([&] {
      return PMPI_Reduce_local(buffers.address(in, done), buffers.address(inout, done), count,
                               buffers.element(), op);
    });
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
  packed_.resize(packed_bytes(buffers.layout(), static_cast<int>(piece)));
  int code = MPI_SUCCESS;
  for (Count done = 0; done < from.count && code == MPI_SUCCESS; done += piece) {
    const int count = static_cast<int>(std::min(piece, from.count - done));
    code = pack(buffers, {from, done, count}, packed_.data(), comm_);
    if (code == MPI_SUCCESS) code = unpack(buffers, packed_.data(), {to, done, count}, comm_);
  }
  return code;
}

}  // namespace latecomer
