#include "runtime/call_data.hpp"

#include <algorithm>
#include <cstring>

namespace latecomer {
namespace {

constexpr Count kAtOnce = Count{1} << 30;  // bytes: MPI counts packed ones in int

char* at(const void* buffer, MPI_Aint offset) {
  return const_cast<char*>(static_cast<const char*>(buffer)) + offset;
}

/// Whether the elements of a datatype follow each other without holes in the order in which MPI
/// sends them. Not known of all that do: others are packed.
bool in_a_row(MPI_Datatype type) {
  if (!Layout(type).contiguous()) return false;
  int integers = 0;
  int addresses = 0;
  int datatypes = 0;
  int combiner = 0;
  PMPI_Type_get_envelope(type, &integers, &addresses, &datatypes, &combiner);
  if (combiner == MPI_COMBINER_NAMED) return true;
  if (combiner != MPI_COMBINER_DUP && combiner != MPI_COMBINER_CONTIGUOUS) return false;
  int length = 0;
  MPI_Aint address = 0;
  MPI_Datatype inner = MPI_DATATYPE_NULL;
  PMPI_Type_get_contents(type, integers, addresses, datatypes, &length, &address, &inner);
  const bool row = in_a_row(inner);
  PMPI_Type_get_envelope(inner, &integers, &addresses, &datatypes, &combiner);
  if (combiner != MPI_COMBINER_NAMED) PMPI_Type_free(&inner);
  return row;
}

/// Calls work(address, elements, bytes) for parts that MPI takes at once.
template <class Work>
int in_pieces(const void* buffer, Count count, MPI_Datatype type, char* bytes, Work work) {
  const Layout layout(type);
  if (layout.size == 0) return MPI_SUCCESS;
  const Count most = std::max<Count>(1, kAtOnce / layout.size);
  int code = MPI_SUCCESS;
  for (Count done = 0; done < count && code == MPI_SUCCESS; done += most) {
    const auto now = static_cast<int>(std::min(most, count - done));
    code = work(at(buffer, done * layout.extent), now, bytes + done * layout.size,
                static_cast<int>(now * layout.size));
  }
  return code;
}

int pack(const void* from, Count count, MPI_Datatype type, char* to, MPI_Comm comm) {
  return in_pieces(from, count, type, to, [&](const void* user, int now, char* bytes, int size) {
    int position = 0;
    return PMPI_Pack(user, now, type, bytes, size, &position, comm);
  });
}

int unpack(const char* from, Count count, MPI_Datatype type, void* to, MPI_Comm comm) {
  return in_pieces(to, count, type, const_cast<char*>(from),
                   [&](void* user, int now, const char* bytes, int size) {
                     int position = 0;
                     return PMPI_Unpack(bytes, size, &position, user, now, type, comm);
                   });
}

}  // namespace

CallData::CallData(const Call& call, const Problem& planned, Rank me)
    : call_(call), problem_(planned), planned_in_place_(planned.in_place_at(me)), me_(me) {
  problem_.in_place = call.in_place();
  if (combines(call.collective)) {
    input_ = call.in_place() ? nullptr : call.sendbuf;
    output_ = call.recvbuf;
  } else {
    place_input();
    place_output();
  }
  if (problem_.in_place_at(me) != planned_in_place_) adapt();
}

Layout CallData::layout() const {
  return Layout(combines(call_.collective) ? call_.sendtype : MPI_BYTE);
}

Count CallData::part_bytes() const { return problem_.part(me_).count * problem_.element_bytes; }

void CallData::place_input() {
  if (problem_.input(me_).empty()) return;
  if (in_a_row(call_.sendtype)) {
    input_ = at(call_.sendbuf, Layout(call_.sendtype).true_lb);
    return;
  }
  packed_input_.resize(static_cast<std::size_t>(problem_.input(me_).count));
  const Count all =
      call_.sendcount * (call_.collective == Collective::scatter ? problem_.ranks : 1);
  code_ = pack(call_.sendbuf, all, call_.sendtype, packed_input_.data(), call_.comm);
  input_ = packed_input_.data();
}

std::vector<CallData::Block> CallData::received_blocks() const {
  const bool gathers =
      call_.collective == Collective::allgather || call_.collective == Collective::gather;
  if (call_.recvcounts == nullptr) return {{0, call_.recvcount * (gathers ? problem_.ranks : 1)}};
  std::vector<Block> blocks;
  for (Rank rank = 0; rank < problem_.ranks; ++rank) {
    blocks.push_back({call_.displs[rank], call_.recvcounts[rank]});
  }
  return blocks;
}

bool CallData::received_in_a_row() const {
  if (!in_a_row(call_.recvtype)) return false;
  Count next = 0;
  for (const Block& block : received_blocks()) {
    if (block.count > 0 && block.first != next) return false;
    next += block.count;
  }
  return true;
}

void CallData::place_output() {
  if (problem_.output(me_).empty()) return;
  if (received_in_a_row()) {
    output_ = at(call_.recvbuf, Layout(call_.recvtype).true_lb);
    return;
  }
  packed_output_.resize(static_cast<std::size_t>(problem_.output(me_).count));
  output_ = packed_output_.data();
  unpacks_ = true;
  if (problem_.in_place_at(me_)) pack_own_part();
}

char* CallData::own_part_of_output() const {
  const Count first = combines(call_.collective) ? 0 : problem_.part(me_).begin;
  return static_cast<char*>(output_) + first * problem_.element_bytes;
}

void CallData::pack_own_part() {
  const Count count = call_.recvcounts == nullptr ? call_.recvcount : call_.recvcounts[me_];
  const Count first = call_.recvcounts == nullptr ? me_ * call_.recvcount : call_.displs[me_];
  const void* const own = at(call_.recvbuf, first * Layout(call_.recvtype).extent);
  code_ = pack(own, count, call_.recvtype, own_part_of_output(), call_.comm);
}

/// The program is for calls in place, and this one is not, or the other way round. Elements lie in
/// a row: such programs were begun before the arrival, which is for built-in datatypes only.
void CallData::adapt() {
  const auto bytes = static_cast<std::size_t>(part_bytes());
  const bool scatters = call_.collective == Collective::scatter;
  if (planned_in_place_ && scatters) {
    std::memcpy(output_, at(input_, problem_.part(me_).begin), bytes);
  } else if (planned_in_place_) {
    std::memcpy(own_part_of_output(), input_, bytes);
  } else if (scatters) {
    aside_.resize(bytes);
    output_ = aside_.data();
  } else {
    aside_.assign(own_part_of_output(), own_part_of_output() + bytes);
    input_ = aside_.data();
  }
}

int CallData::finish() {
  if (!unpacks_) return MPI_SUCCESS;
  const Layout layout(call_.recvtype);
  const char* next = packed_output_.data();
  for (const Block& block : received_blocks()) {
    void* const to = at(call_.recvbuf, block.first * layout.extent);
    const int code = unpack(next, block.count, call_.recvtype, to, call_.comm);
    if (code != MPI_SUCCESS) return code;
    next += block.count * layout.size;
  }
  return MPI_SUCCESS;
}

}  // namespace latecomer
