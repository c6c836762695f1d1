#include "transports/mpi/buffers.hpp"

#include <algorithm>
#include <cstring>

#include "base/arithmetic.hpp"
#include "transports/mpi/user_code.hpp"

namespace latecomer {

Datatype Datatype::resized(MPI_Datatype type, MPI_Aint lower_bound, MPI_Aint extent) {
  Datatype made;
  PMPI_Type_create_resized(type, lower_bound, extent, &made.type_);
  PMPI_Type_commit(&made.type_);
  return made;
}

void Datatype::reset() {
  if (type_ != MPI_DATATYPE_NULL) PMPI_Type_free(&type_);
}

namespace {

constexpr MPI_Aint kApart = 64;

/// Elements of a type whose extent is below its span lie further apart in scratch: there they
/// must not overlap even if a message holds but one of them.
MPI_Aint scratch_spacing(const Layout& layout) {
  if (layout.separate()) return layout.extent;
  return (layout.true_extent + kApart - 1) / kApart * kApart;
}

MPI_Aint integer(const void* pointer) { return reinterpret_cast<MPI_Aint>(pointer); }

char* first_byte(const Buffers& buffers, const Part& part) {
  return static_cast<char*>(buffers.address(part.slice, part.offset)) + buffers.layout().true_lb;
}

constexpr Count kPackedBytes = 65536;

}  // namespace

Buffers::Buffers(const Layout& layout, const void* input, void* output, Scratch& scratch,
                 Count scratch_count)
    : layout_(layout) {
  const MPI_Aint spacing = scratch_spacing(layout);
  if (!layout.separate()) apart_ = Datatype::resized(layout.type, 0, spacing);
  const MPI_Datatype type = layout.separate() ? layout.type : apart_.get();
  places_[0] = {integer(input), layout.extent, layout.type};
  places_[1] = {integer(output), layout.extent, layout.type};
  places_[2] = {integer(scratch.reserve(layout, spacing, scratch_count)), spacing, type};
}

std::size_t Buffers::node_bytes(const Layout& layout, Count count) {
  return Scratch::bytes(layout, scratch_spacing(layout), count);
}

void Buffers::share(void* memory) {
  const auto base = integer(memory) + static_cast<MPI_Aint>(Scratch::bytes_before(layout_));
  places_[3] = {base, places_[2].spacing, places_[2].type};
}

void Buffers::bind(const void* input, void* output) {
  places_[0].base = integer(input);
  places_[1].base = integer(output);
}

int pack(const Buffers& buffers, const Part& part, char* bytes, MPI_Comm comm) {
  const std::size_t room = packed_bytes(buffers.layout(), part.count);
  if (buffers.layout().contiguous()) {
    std::memcpy(bytes, first_byte(buffers, part), room);
    return MPI_SUCCESS;
  }
  int position = 0;
  return PMPI_Pack(buffers.address(part.slice, part.offset), part.count, buffers.type(part.slice),
                   bytes, static_cast<int>(room), &position, comm);
}

int unpack(const Buffers& buffers, const char* bytes, const Part& part, MPI_Comm comm) {
  const std::size_t room = packed_bytes(buffers.layout(), part.count);
  if (buffers.layout().contiguous()) {
    std::memcpy(first_byte(buffers, part), bytes, room);
    return MPI_SUCCESS;
  }
  int position = 0;
  return PMPI_Unpack(bytes, static_cast<int>(room), &position,
                     buffers.address(part.slice, part.offset), part.count, buffers.type(part.slice),
                     comm);
}

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
