// The MPI library's own collectives, at the pace of a binomial tree, and its arithmetic.
#include <algorithm>
#include <bit>
#include <complex>
#include <cstring>
#include <numeric>

#include "worlds/mpi_state.hpp"

namespace latecomer::worlds {
namespace {

template <class T>
bool combine_as(const T* in, T* inout, std::int64_t count, MPI_Op op) {
  const auto each = [&](auto&& function) {
    for (std::int64_t i = 0; i < count; ++i) inout[i] = function(in[i], inout[i]);
    return true;
  };
  if (op == MPI_SUM) return each([](T a, T b) { return static_cast<T>(a + b); });
  if (op == MPI_PROD) return each([](T a, T b) { return static_cast<T>(a * b); });
  if (op == MPI_MAX) return each([](T a, T b) { return a > b ? a : b; });
  if (op == MPI_MIN) return each([](T a, T b) { return a < b ? a : b; });
  if (op == MPI_LAND) return each([](T a, T b) { return static_cast<T>(a != 0 && b != 0); });
  if (op == MPI_LOR) return each([](T a, T b) { return static_cast<T>(a != 0 || b != 0); });
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    if (op == MPI_BAND) return each([](T a, T b) { return static_cast<T>(a & b); });
    if (op == MPI_BOR) return each([](T a, T b) { return static_cast<T>(a | b); });
    if (op == MPI_BXOR) return each([](T a, T b) { return static_cast<T>(a ^ b); });
  }
  return false;
}

template <class... Types>
bool combine_one_of(MPI_Datatype type, std::initializer_list<MPI_Datatype> names, const void* in,
                    void* inout, std::int64_t count, MPI_Op op) {
  const auto* name = names.begin();
  return ((*name++ == type &&
           combine_as(static_cast<const Types*>(in), static_cast<Types*>(inout), count, op)) ||
          ...);
}

/// MPI's order of checks does not matter here: the first wrong argument is the answer.
int check(MPI_Comm handle, std::int64_t count, int root, Comm*& comm) {
  const Within state;
  comm = state->find(handle);
  if (comm == nullptr) return MPI_ERR_COMM;
  if (count < 0) return MPI_ERR_COUNT;
  return root < 0 || root >= static_cast<int>(comm->members.size()) ? MPI_ERR_ROOT : MPI_SUCCESS;
}

/// Real libraries refuse an operator that a type does not have before they take part.
int check_op(MPI_Op op, MPI_Datatype type) {
  if (op == MPI_OP_NULL) return MPI_ERR_OP;
  return Within()->mine().ops.contains(op) ? MPI_SUCCESS : combine(nullptr, nullptr, 0, type, op);
}

int check_buffer(const void* buffer, std::int64_t count, MPI_Datatype type) {
  if (count < 0) return MPI_ERR_COUNT;
  if (type == MPI_DATATYPE_NULL) return MPI_ERR_TYPE;
  return buffer == nullptr && count > 0 ? MPI_ERR_BUFFER : MPI_SUCCESS;
}

/// The first of them that is none of success.
int first_of(std::initializer_list<int> codes) {
  for (const int code : codes) {
    if (code != MPI_SUCCESS) return code;
  }
  return MPI_SUCCESS;
}

/// As many messages of `size` as a binomial tree has levels take so long.
Time span_of(const Comm& comm, std::size_t size) {
  const Within state;
  const auto levels = static_cast<int>(std::bit_width(comm.members.size() - 1));
  Time span = 0;
  for (int level = 0; level < levels; ++level) span += state->cost(size);
  return span;
}

/// The rank gives `mine`, waits for those that it needs, and leaves after as many messages of
/// `size` as a binomial tree has levels. `take` returns MPI's code.
template <class Needs, class Take>
int together(Comm& comm, const char* name, std::vector<char> mine, std::size_t size,
             const Needs& needs, const Take& take) {
  const Within state(name, 0);
  Meeting::Part part;
  part.data = std::move(mine);
  Meeting& meeting = state->meet(comm, name, std::move(part), needs);
  const int code = take(meeting);
  state->part(comm);
  state->scheduler.spend(span_of(comm, size));
  return code;
}

bool all(int) { return true; }

/// The vectors of all ranks, combined in rank order. MPI_ERR_TRUNCATE: their lengths differ.
int combine_all(Meeting& meeting, std::int64_t count, MPI_Datatype type, MPI_Op op) {
  const auto size = static_cast<std::size_t>(count * Within()->size_of(type));
  for (const auto& part : meeting.parts) {
    if (part->data.size() != size) return MPI_ERR_TRUNCATE;
  }
  if (!meeting.bytes.empty() || count == 0) return MPI_SUCCESS;
  std::vector<char> sum = meeting.parts[0]->data;
  for (std::size_t i = 1; i < meeting.parts.size(); ++i) {
    std::vector<char> right = meeting.parts[i]->data;
    if (const int code = combine(sum.data(), right.data(), count, type, op); code != MPI_SUCCESS) {
      return code;
    }
    sum = std::move(right);
  }
  meeting.bytes = std::move(sum);
  return MPI_SUCCESS;
}

std::vector<char> copied(const void* from, std::int64_t size) {
  const auto* const begin = static_cast<const char*>(from);
  return {begin, begin + size};
}

/// MPI_ERR_TRUNCATE: there is room for less.
int put(const std::vector<char>& from, void* to, std::int64_t room) {
  const auto size = std::min(from.size(), static_cast<std::size_t>(room));
  if (size > 0) std::memcpy(to, from.data(), size);
  return size < from.size() ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
}

}  // namespace

int combine(const void* in, void* inout, std::int64_t count, MPI_Datatype type, MPI_Op op) {
  const auto& ops = Within()->mine().ops;
  if (const auto found = ops.find(op); found != ops.end()) {
    int length = static_cast<int>(count);
    found->second.function(const_cast<void*>(in), inout, &length, &type);
    return MPI_SUCCESS;
  }
  if (type == MPI_DOUBLE_INT && op == MPI_MINLOC) {
    using Pair = std::pair<double, int>;
    for (std::int64_t i = 0; i < count; ++i) {
      auto& least = static_cast<Pair*>(inout)[i];
      least = std::min(least, static_cast<const Pair*>(in)[i]);
    }
    return MPI_SUCCESS;
  }
  const bool known =
      combine_one_of<char, signed char, unsigned char, unsigned char, short, unsigned short, int,
                     unsigned, long, unsigned long, long long, unsigned long long, float, double,
                     long double>(
          type,
          {MPI_CHAR, MPI_SIGNED_CHAR, MPI_UNSIGNED_CHAR, MPI_BYTE, MPI_SHORT, MPI_UNSIGNED_SHORT,
           MPI_INT, MPI_UNSIGNED, MPI_LONG, MPI_UNSIGNED_LONG, MPI_LONG_LONG_INT,
           MPI_UNSIGNED_LONG_LONG, MPI_FLOAT, MPI_DOUBLE, MPI_LONG_DOUBLE},
          in, inout, count, op) ||
      combine_one_of<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
                     std::uint16_t, std::uint32_t, std::uint64_t, bool>(
          type,
          {MPI_INT8_T, MPI_INT16_T, MPI_INT32_T, MPI_INT64_T, MPI_UINT8_T, MPI_UINT16_T,
           MPI_UINT32_T, MPI_UINT64_T, MPI_C_BOOL},
          in, inout, count, op);
  return known ? MPI_SUCCESS : MPI_ERR_OP;
}

/// Begins a non-blocking call. The last rank that comes carries it out for all: `finish` makes the
/// result, of `size` bytes.
template <class Finish>
int begin_together(Comm& comm, std::vector<char> data, void* to, std::int64_t size,
                   MPI_Request* request, const Finish& finish) {
  const Within state;
  auto made = std::make_unique<Request>();
  made->buffer = static_cast<char*>(to);
  Meeting::Part part;
  part.data = std::move(data);
  part.request = made.get();
  *request = state->add(std::move(made));
  const auto number = state->local(comm).begun++;
  Meeting& meeting = comm.begun[number];
  meeting.parts.resize(comm.members.size());
  meeting.parts[state->me_in(comm)] = std::move(part);
  if (!std::all_of(meeting.parts.begin(), meeting.parts.end(),
                   [](const auto& each) { return each.has_value(); })) {
    return MPI_SUCCESS;
  }
  const int code = finish(meeting);
  for (auto& each : meeting.parts) {
    Request& ends = *each->request;
    ends.error = code != MPI_SUCCESS ? code : put(meeting.bytes, ends.buffer, size);
    ends.done = state->scheduler.now() + span_of(comm, size);
    state->scheduler.wake(ends.owner, ends.done);
  }
  comm.begun.erase(number);
  return MPI_SUCCESS;
}

}  // namespace latecomer::worlds

using namespace latecomer::worlds;  // NOLINT: the functions below belong to no namespace

extern "C" {

int PMPI_Barrier(MPI_Comm handle) {
  if (Scheduler::running() == nullptr) return MPI_ERR_OTHER;  // MPI has not begun
  const Within state;
  Comm* comm = nullptr;
  if (const int code = check(handle, 0, 0, comm); code != MPI_SUCCESS) return code;
  return together(*comm, "MPI_Barrier", {}, 0, all, [](Meeting&) { return MPI_SUCCESS; });
}

int PMPI_Allreduce_c(const void* from, void* to, MPI_Count count, MPI_Datatype type, MPI_Op op,
                     MPI_Comm handle) {
  const Within state;
  Comm* comm = nullptr;
  const int wrong = first_of({check(handle, count, 0, comm), check_buffer(from, count, type),
                              check_buffer(to, count, type), check_op(op, type)});
  if (wrong != MPI_SUCCESS) return wrong;
  const auto size = count * state->size_of(type);
  return together(*comm, "MPI_Allreduce", copied(from == MPI_IN_PLACE ? to : from, size), size, all,
                  [&](Meeting& meeting) {
                    const int code = combine_all(meeting, count, type, op);
                    return code != MPI_SUCCESS ? code : put(meeting.bytes, to, size);
                  });
}

int PMPI_Iallreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op,
                    MPI_Comm handle, MPI_Request* request) {
  const Within state("MPI_Iallreduce", 0);
  Comm* comm = nullptr;
  const int wrong = first_of({check(handle, count, 0, comm), check_buffer(from, count, type),
                              check_buffer(to, count, type), check_op(op, type)});
  if (wrong != MPI_SUCCESS) return wrong;
  const auto size = count * state->size_of(type);
  return begin_together(*comm, copied(from == MPI_IN_PLACE ? to : from, size), to, size, request,
                        [&](Meeting& meeting) { return combine_all(meeting, count, type, op); });
}

int PMPI_Reduce_c(const void* from, void* to, MPI_Count count, MPI_Datatype type, MPI_Op op,
                  int root, MPI_Comm handle) {
  const Within state;
  Comm* comm = nullptr;
  const int wrong = first_of(
      {check(handle, count, root, comm), check_buffer(from, count, type), check_op(op, type)});
  if (wrong != MPI_SUCCESS) return wrong;
  const auto size = count * state->size_of(type);
  const int me = state->me_in(*comm);
  return together(
      *comm, "MPI_Reduce", copied(from == MPI_IN_PLACE ? to : from, size), size,
      [&](int rank) { return me == root || rank == me; },
      [&](Meeting& meeting) {
        if (me != root) return MPI_SUCCESS;
        const int code = combine_all(meeting, count, type, op);
        return code != MPI_SUCCESS ? code : put(meeting.bytes, to, size);
      });
}

int PMPI_Bcast_c(void* buffer, MPI_Count count, MPI_Datatype type, int root, MPI_Comm handle) {
  const Within state;
  Comm* comm = nullptr;
  const int wrong = first_of({check(handle, count, root, comm), check_buffer(buffer, count, type)});
  if (wrong != MPI_SUCCESS) return wrong;
  const auto size = count * state->size_of(type);
  const int me = state->me_in(*comm);
  return together(
      *comm, "MPI_Bcast", me == root ? copied(buffer, size) : std::vector<char>{}, size,
      [&](int rank) { return rank == root; },
      [&](Meeting& meeting) {
        return me == root ? MPI_SUCCESS : put(meeting.parts[root]->data, buffer, size);
      });
}

int PMPI_Allgatherv_c(const void* from, MPI_Count from_count, MPI_Datatype from_type, void* to,
                      const MPI_Count* counts, const MPI_Aint* places, MPI_Datatype type,
                      MPI_Comm handle) {
  const Within state;
  Comm* comm = nullptr;
  const int wrong =
      first_of({check(handle, 0, 0, comm), check_buffer(from, from_count, from_type)});
  if (wrong != MPI_SUCCESS) return wrong;
  const auto width = state->size_of(type);
  const int me = state->me_in(*comm);
  auto* const base = static_cast<char*>(to);
  std::vector<char> mine = from == MPI_IN_PLACE
                               ? copied(base + places[me] * width, counts[me] * width)
                               : copied(from, from_count * state->size_of(from_type));
  std::int64_t whole = 0;
  for (std::size_t i = 0; i < comm->members.size(); ++i) whole += counts[i] * width;
  return together(*comm, "MPI_Allgather", std::move(mine), whole, all, [&](Meeting& meeting) {
    int code = MPI_SUCCESS;
    for (std::size_t i = 0; i < meeting.parts.size(); ++i) {
      code = first_of(
          {code, put(meeting.parts[i]->data, base + places[i] * width, counts[i] * width)});
    }
    return code;
  });
}

int PMPI_Allgather_c(const void* from, MPI_Count from_count, MPI_Datatype from_type, void* to,
                     MPI_Count count, MPI_Datatype type, MPI_Comm handle) {
  const Within state;
  Comm* comm = nullptr;
  if (const int code = check(handle, count, 0, comm); code != MPI_SUCCESS) return code;
  const std::vector<MPI_Count> counts(comm->members.size(), count);
  std::vector<MPI_Aint> places(comm->members.size());
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = static_cast<MPI_Aint>(i) * count;
  return PMPI_Allgatherv_c(from, from_count, from_type, to, counts.data(), places.data(), type,
                           handle);
}

int PMPI_Gatherv(const void* from, int from_count, MPI_Datatype from_type, void* to,
                 const int* counts, const int* places, MPI_Datatype type, int root,
                 MPI_Comm handle) {
  const Within state;
  Comm* comm = nullptr;
  const int wrong =
      first_of({check(handle, from_count, root, comm), check_buffer(from, from_count, from_type)});
  if (wrong != MPI_SUCCESS) return wrong;
  const int me = state->me_in(*comm);
  const auto width = state->size_of(type);
  auto* const base = static_cast<char*>(to);
  const auto size = from_count * state->size_of(from_type);
  return together(
      *comm, "MPI_Gather",
      from == MPI_IN_PLACE ? copied(base + places[me] * width, counts[me] * width)
                           : copied(from, size),
      size, [&](int rank) { return me == root || rank == me; },
      [&](Meeting& meeting) {
        int code = MPI_SUCCESS;
        for (std::size_t i = 0; me == root && i < meeting.parts.size(); ++i) {
          code = first_of(
              {code, put(meeting.parts[i]->data, base + places[i] * width, counts[i] * width)});
        }
        return code;
      });
}

int PMPI_Gather_c(const void* from, MPI_Count from_count, MPI_Datatype from_type, void* to,
                  MPI_Count count, MPI_Datatype type, int root, MPI_Comm handle) {
  const Within state;
  Comm* comm = nullptr;
  if (const int code = check(handle, from_count, root, comm); code != MPI_SUCCESS) return code;
  const std::vector<int> counts(comm->members.size(), static_cast<int>(count));
  std::vector<int> places(comm->members.size());
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = static_cast<int>(i) * counts[i];
  return PMPI_Gatherv(from, static_cast<int>(from_count), from_type, to, counts.data(),
                      places.data(), type, root, handle);
}

int PMPI_Scatter_c(const void* from, MPI_Count count, MPI_Datatype type, void* to,
                   MPI_Count to_count, MPI_Datatype to_type, int root, MPI_Comm handle) {
  const Within state;
  Comm* comm = nullptr;
  const int wrong =
      first_of({check(handle, to_count, root, comm), check_buffer(to, to_count, to_type)});
  if (wrong != MPI_SUCCESS) return wrong;
  const int me = state->me_in(*comm);
  const int whole_wrong = me == root ? check_buffer(from, count, type) : MPI_SUCCESS;
  if (whole_wrong != MPI_SUCCESS) return whole_wrong;
  const auto ranks = static_cast<std::int64_t>(comm->members.size());
  const auto size = me == root ? count * state->size_of(type) : to_count * state->size_of(to_type);
  return together(
      *comm, "MPI_Scatter", me == root ? copied(from, ranks * size) : std::vector<char>{}, size,
      [&](int rank) { return rank == root; },
      [&](Meeting& meeting) {
        const auto& whole = meeting.parts[root]->data;
        if (static_cast<std::int64_t>(whole.size()) != ranks * size) return MPI_ERR_TRUNCATE;
        if (to != MPI_IN_PLACE && size > 0) std::memcpy(to, whole.data() + me * size, size);
        return MPI_SUCCESS;
      });
}

int PMPI_Allreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm) {
  return PMPI_Allreduce_c(from, to, count, type, op, comm);
}
int PMPI_Reduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, int root,
                MPI_Comm comm) {
  return PMPI_Reduce_c(from, to, count, type, op, root, comm);
}
int PMPI_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  return PMPI_Bcast_c(buffer, count, type, root, comm);
}
int PMPI_Allgather(const void* from, int from_count, MPI_Datatype from_type, void* to, int count,
                   MPI_Datatype type, MPI_Comm comm) {
  return PMPI_Allgather_c(from, from_count, from_type, to, count, type, comm);
}
int PMPI_Allgatherv(const void* from, int from_count, MPI_Datatype from_type, void* to,
                    const int* counts, const int* places, MPI_Datatype type, MPI_Comm handle) {
  const Within state;
  Comm* comm = nullptr;
  if (const int code = check(handle, from_count, 0, comm); code != MPI_SUCCESS) return code;
  const auto ranks = comm->members.size();
  const std::vector<MPI_Count> long_counts(counts, counts + ranks);
  const std::vector<MPI_Aint> long_places(places, places + ranks);
  return PMPI_Allgatherv_c(from, from_count, from_type, to, long_counts.data(), long_places.data(),
                           type, handle);
}
int PMPI_Gather(const void* from, int from_count, MPI_Datatype from_type, void* to, int count,
                MPI_Datatype type, int root, MPI_Comm comm) {
  return PMPI_Gather_c(from, from_count, from_type, to, count, type, root, comm);
}
int PMPI_Scatter(const void* from, int count, MPI_Datatype type, void* to, int to_count,
                 MPI_Datatype to_type, int root, MPI_Comm comm) {
  return PMPI_Scatter_c(from, count, type, to, to_count, to_type, root, comm);
}

}  // extern "C"
