#include "transports/mpi/packing.hpp"

#include <cstring>

namespace latecomer {
namespace {

char* first_byte(const Buffers& buffers, const Part& part) {
  return static_cast<char*>(buffers.address(part.slice, part.offset)) + buffers.layout().true_lb;
}

}  // namespace

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

}  // namespace latecomer
