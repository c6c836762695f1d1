#include "runtime/call/call_data.hpp"

#include <algorithm>
#include <climits>
#include <cstring>
#include <optional>

#include "runtime/call/host_buffers.hpp"

namespace latecomer {
namespace {

constexpr Count kAtOnce = Count{1} << 30;  // bytes: MPI counts packed ones in int

char* at(const void* buffer, MPI_Aint offset) {
  return const_cast<char*>(static_cast<const char*>(buffer)) + offset;
}

/// Packed data of any length.
class PackedType {
 public:
  explicit PackedType(Count bytes) {
    constexpr int kPiece = 1 << 20;
    PMPI_Type_contiguous(kPiece, MPI_PACKED, &piece_);
    const int lengths[] = {static_cast<int>(bytes / kPiece), static_cast<int>(bytes % kPiece)};
    const MPI_Aint places[] = {0, static_cast<MPI_Aint>(bytes / kPiece * kPiece)};
    const MPI_Datatype types[] = {piece_, MPI_PACKED};
    PMPI_Type_create_struct(2, lengths, places, types, &type_);
    PMPI_Type_commit(&type_);
  }
  ~PackedType() {
    PMPI_Type_free(&type_);
    PMPI_Type_free(&piece_);
  }
  PackedType(const PackedType&) = delete;
  PackedType& operator=(const PackedType&) = delete;

  [[nodiscard]] MPI_Datatype get() const { return type_; }

 private:
  MPI_Datatype piece_ = MPI_DATATYPE_NULL;
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

/// Calls work(address, elements, bytes, how many bytes) for parts that MPI packs at once. A single
/// element that is too long for that goes as a message of this rank to itself: move(address, bytes,
/// their datatype).
template <class Work, class Move>
int in_pieces(const void* buffer, Count count, const Layout& layout, char* bytes, Work work,
              Move move) {
  if (layout.size == 0) return MPI_SUCCESS;
  std::optional<PackedType> packed;
  if (layout.size > INT_MAX) packed.emplace(layout.size);
  const Count max = std::max<Count>(1, kAtOnce / layout.size);
  int code = MPI_SUCCESS;
  for (Count done = 0; done < count && code == MPI_SUCCESS; done += max) {
    const Count now = std::min(max, count - done);
    const MPI_Aint offset = done * layout.extent;
    const Count place = done * layout.size;
    code = packed ? move(at(buffer, offset), bytes + place, packed->get())
                  : work(at(buffer, offset), static_cast<int>(now), bytes + place,
                         static_cast<int>(now * layout.size));
  }
  return code;
}

int pack(const void* from, Count count, const Layout& layout, char* to, MPI_Comm comm) {
  return in_pieces(
      from, count, layout, to,
      [&](const void* user, int now, char* bytes, int size) {
        int position = 0;
        return PMPI_Pack(user, now, layout.type, bytes, size, &position, comm);
      },
      [&](const void* user, char* bytes, MPI_Datatype packed) {
        return send_to_self(user, 1, layout.type, bytes, 1, packed);
      });
}

// NOLINTNEXTLINE(misc-const-correctness): MPI writes there
int unpack(const char* from, Count count, const Layout& layout, void* to, MPI_Comm comm) {
  return in_pieces(
      to, count, layout, const_cast<char*>(from),
      [&](void* user, int now, const char* bytes, int size) {
        int position = 0;
        return PMPI_Unpack(bytes, size, &position, user, now, layout.type, comm);
      },
      [&](void* user, const char* bytes, MPI_Datatype packed) {
        return send_to_self(bytes, 1, packed, user, 1, layout.type);
      });
}

/// Bytes that need not be cleared: all of them will be written.
std::unique_ptr<char[]> unset(Count bytes) {
  return std::make_unique_for_overwrite<char[]>(static_cast<std::size_t>(bytes));
}

}  // namespace

CallData::CallData(const Call& call, const Problem& planned, Rank me)
    : call_(call), problem_(planned), planned_in_place_(planned.in_place_at(me)), me_(me) {
  problem_.in_place = call.in_place();
  if (combines(call.collective)) {
    input_ = problem_.in_place_at(me) ? nullptr : call.sendbuf;
    output_ = call.recvbuf;
  } else {
    place_input();
    place_output();
  }
  if (problem_.in_place_at(me) != planned_in_place_) adapt();
}

Layout CallData::layout() const { return Layout(call_.element()); }

Count CallData::part_bytes() const { return problem_.part(me_).count * problem_.element_bytes; }

void CallData::place_input() {
  if (problem_.input(me_).empty()) return;
  const Layout layout(call_.sendtype);
  if (in_a_row(layout)) {
    input_ = at(call_.sendbuf, layout.true_lb);
    return;
  }
  packed_input_ = unset(problem_.input(me_).count);
  const Count all =
      call_.sendcount * (call_.collective == Collective::scatter ? problem_.ranks : 1);
  code_ = pack(call_.sendbuf, all, layout, packed_input_.get(), call_.comm);
  input_ = packed_input_.get();
}

bool CallData::received_in_a_row(const Layout& layout) const {
  if (!in_a_row(layout)) return false;
  Count next = 0;
  for (const Block& block : received_blocks(call_, problem_.ranks)) {
    if (block.count > 0 && block.first != next) return false;
    next += block.count;
  }
  return true;
}

void CallData::place_output() {
  if (problem_.output(me_).empty()) return;
  const Layout layout(call_.recvtype);
  if (received_in_a_row(layout)) {
    output_ = at(call_.recvbuf, layout.true_lb);
    return;
  }
  packed_output_ = unset(problem_.output(me_).count);
  output_ = packed_output_.get();
  if (problem_.in_place_at(me_)) pack_own_part(layout);
}

char* CallData::own_part_of_output() const {
  const Count first = combines(call_.collective) ? 0 : problem_.part(me_).begin;
  return static_cast<char*>(output_) + first * problem_.element_bytes;
}

void CallData::pack_own_part(const Layout& layout) {
  const Count count = !call_.parts_differ() ? call_.recvcount : call_.part_count(me_);
  const Count first = !call_.parts_differ() ? me_ * call_.recvcount : call_.part_begin(me_);
  const void* const own = at(call_.recvbuf, first * layout.extent);
  code_ = pack(own, count, layout, own_part_of_output(), call_.comm);
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
    aside_ = unset(part_bytes());
    output_ = aside_.get();
  } else {
    aside_ = unset(part_bytes());
    std::memcpy(aside_.get(), own_part_of_output(), bytes);
    input_ = aside_.get();
  }
}

int CallData::finish() {
  if (!packed_output_) return MPI_SUCCESS;
  const Layout layout(call_.recvtype);
  const char* next = packed_output_.get();
  for (const Block& block : received_blocks(call_, problem_.ranks)) {
    void* const to = at(call_.recvbuf, block.first * layout.extent);
    const int code = unpack(next, block.count, layout, to, call_.comm);
    if (code != MPI_SUCCESS) return code;
    next += block.count * layout.size;
  }
  return MPI_SUCCESS;
}

void CallData::abandon() {
  for (auto* const each : {&packed_input_, &packed_output_, &aside_}) (void)each->release();
}

}  // namespace latecomer
