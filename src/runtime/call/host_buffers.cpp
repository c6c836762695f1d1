#include "runtime/call/host_buffers.hpp"

#include <algorithm>
#include <utility>

#include "runtime/call/device_memory.hpp"
#include "runtime/call/native.hpp"
#include "transports/mpi/layout.hpp"

namespace latecomer {
namespace {

/// A communicator of this rank alone: messages on MPI_COMM_SELF might meet the program's. A
/// duplicate would call the copy functions of the program's attributes.
MPI_Comm make_own_comm() {
  MPI_Comm comm = MPI_COMM_NULL;
  PMPI_Comm_split(MPI_COMM_SELF, 0, 0, &comm);
  PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  return comm;
}

MPI_Comm own_comm() {
  static const MPI_Comm comm = make_own_comm();
  return comm;
}

char* moved(const void* buffer, MPI_Aint offset) {
  return const_cast<char*>(static_cast<const char*>(buffer)) + offset;
}

/// Where the data of a buffer begin: types may hold absolute addresses.
const void* first_byte(const void* buffer, MPI_Datatype type) {
  return moved(buffer, Layout(type).true_lb);
}

bool is_device_buffer(const void* buffer, Count count, MPI_Datatype type) {
  if (count == 0 || buffer == MPI_IN_PLACE || type == MPI_DATATYPE_NULL) return false;
  return is_device_memory(first_byte(buffer, type));
}

bool is_root(const Call& call, Rank me) { return !rooted(call.collective) || call.root == me; }

/// The buffer counts on this rank.
bool sends(const Call& call, Rank me) {
  const bool from_root =
      call.collective == Collective::bcast || call.collective == Collective::scatter;
  return call.sendbuf != MPI_IN_PLACE && (!from_root || is_root(call, me));
}
bool receives(const Call& call, Rank me) {
  const bool to_root =
      call.collective == Collective::reduce || call.collective == Collective::gather;
  if (call.collective == Collective::bcast) return !is_root(call, me);
  return call.recvbuf != MPI_IN_PLACE && (!to_root || is_root(call, me));
}

bool receives_something(const Call& call, Rank ranks) {
  if (!call.parts_differ()) return call.recvcount != 0;
  for (Rank rank = 0; rank < ranks; ++rank) {
    if (call.part_count(rank) != 0) return true;
  }
  return false;
}

}  // namespace

bool passes_device_memory(const Call& call, Rank ranks, Rank me) {
  if (sends(call, me) && is_device_buffer(call.sendbuf, call.sendcount, call.sendtype)) return true;
  return receives(call, me) &&
         is_device_buffer(call.recvbuf, receives_something(call, ranks) ? 1 : 0, call.recvtype);
}

HostBuffers::HostBuffers(const Call& call, Rank ranks, Rank me, bool copies) : call_(call) {
  if (!copies) return;
  if (sends(call, me)) {
    const Count parts = call.collective == Collective::scatter ? ranks : 1;
    add(sent_, call.sendbuf, call.sendtype, {{0, call.sendcount * parts}});
    if (sent_.memory) {
      transfer(sent_, true);
      call_.sendbuf = sent_.host;
    }
  }
  if (receives(call, me)) {
    add(received_, call.recvbuf, call.recvtype, received_blocks(ranks));
    if (received_.memory) {
      if (call.sendbuf == MPI_IN_PLACE) transfer(received_, true);
      call_.recvbuf = received_.host;
    }
  }
  if (call.collective == Collective::bcast) {  // one buffer has both names
    const Copy& copy = is_root(call, me) ? sent_ : received_;
    if (copy.memory) call_.sendbuf = call_.recvbuf = copy.host;
  }
}

std::vector<HostBuffers::Block> HostBuffers::received_blocks(Rank ranks) const {
  const bool gathers =
      call_.collective == Collective::allgather || call_.collective == Collective::gather;
  if (!call_.parts_differ()) return {{0, call_.recvcount * (gathers ? ranks : 1)}};
  std::vector<Block> blocks;
  for (Rank rank = 0; rank < ranks; ++rank) {
    blocks.push_back({call_.part_begin(rank), call_.part_count(rank)});
  }
  return blocks;
}

/// Makes room for a copy if the buffer is memory of a device.
void HostBuffers::add(Copy& copy, const void* buffer, MPI_Datatype type,
                      std::vector<Block> blocks) {
  if (!is_device_buffer(buffer, 1, type)) return;
  const Layout layout(type);
  Count low = 0;
  Count high = 0;
  bool any = false;
  for (const Block& block : blocks) {
    if (block.count == 0) continue;
    const Count first = block.first * layout.extent;
    const Count last = (block.first + block.count - 1) * layout.extent;
    const Count begin = std::min(first, last) + layout.true_lb;
    const Count end = std::max(first, last) + layout.true_lb + layout.true_extent;
    low = any ? std::min(low, begin) : begin;
    high = any ? std::max(high, end) : end;
    any = true;
  }
  if (!any) return;
  copy.device = const_cast<void*>(buffer);
  copy.type = type;
  copy.blocks = std::move(blocks);
  // Where elements overlap or have holes, nothing but their data is copied.
  copy.memory = std::make_unique<char[]>(static_cast<std::size_t>(high - low));
  copy.host = copy.memory.get() - low;
}

void HostBuffers::transfer(Copy& copy, bool to_host) {
  constexpr Count kAtOnce = Count{1} << 30;  // bytes
  const Layout layout(copy.type);
  const Count most = std::max<Count>(1, kAtOnce / std::max<Count>(1, layout.size));
  for (const Block& block : copy.blocks) {
    for (Count done = 0; done < block.count && code_ == MPI_SUCCESS; done += most) {
      const auto now = static_cast<int>(std::min(most, block.count - done));
      const MPI_Aint offset = (block.first + done) * layout.extent;
      char* const device = moved(copy.device, offset);
      char* const host = copy.host + offset;
      code_ = native_calls.sendrecv(to_host ? device : host, now, copy.type, 0, 0,
                                    to_host ? host : device, now, copy.type, 0, 0, own_comm(),
                                    MPI_STATUS_IGNORE);
    }
  }
}

int HostBuffers::finish() {
  if (received_.memory) transfer(received_, false);
  return code_;
}

}  // namespace latecomer
