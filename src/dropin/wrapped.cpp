#include "dropin/wrapped.hpp"

#include <algorithm>
#include <climits>
#include <optional>
#include <utility>

#include "base/reproducible.hpp"
#include "capi/mpi/calls.hpp"
#include "capi/mpi/guard.hpp"
#include "dropin/fast_path.hpp"
#include "dropin/messages.hpp"
#include "dropin/next.hpp"
#include "dropin/unseen.hpp"
#include "runtime/call/execute.hpp"
#include "runtime/connection/identity.hpp"
#include "runtime/connection/sleeping.hpp"
#include "runtime/progress/progress_thread.hpp"
#include "runtime/trace/stamps.hpp"
#include "runtime/trace/tracer.hpp"
#include "transports/mpi/communicators.hpp"

namespace latecomer::wrapped {
namespace {

/// True if the MPI library gets all calls on the communicator, and none is recorded: it has one
/// rank, ranks of another MPI_COMM_WORLD or, where nothing is counted, two groups. MPI is asked
/// nothing: it may be no communicator, for which MPI would call the program's error handler.
bool is_left(MPI_Comm comm) {
  if (used_last(comm)) return false;
  const bool counts = fast_path.counts.load(std::memory_order_relaxed);
  return counts ? name_of(comm) == 0 : !has_identity(comm);
}

/// True if the MPI library gets the call at once.
bool leaves(Count count, MPI_Datatype type) {
  if (count > INT_MAX) return false;
  return !is_active() || is_short(count, type);
}

/// The same for a vector with a part for each rank.
bool leaves(Count part, MPI_Datatype type, MPI_Comm comm) {
  if (part > INT_MAX) return false;
  if (!is_active() || is_left(comm)) return true;
  return ranks_of(comm) * bytes_of(part, type) < fast_path.min_bytes;
}

/// True if functions with counts of int would get a count that is none. Of the two counts MPI
/// ignores one in place, and one on ranks that are not the root.
bool exceeds_int(Count sendcount, Count recvcount) {
  return !is_active() && std::max(sendcount, recvcount) > INT_MAX;
}

bool is_root(int root, MPI_Comm comm) {
  if (is_left(comm)) return root == 0;
  return rank_in(comm) == root && !has_two_groups(comm);  // there it is one of the other group
}

/// Runs a collective that has no record of its own.
template <class Native>
int unrecorded(const void* site, Native&& native) {
  if (!messages::are_traced()) return messages::untraced(trace::OtherCalls::communicators, native);
  return unseen::in(trace::OtherCalls::communicators, site, native);
}

/// Runs a collective, in the trace if there is one. `begin` makes its TracedCall on a state.
template <class Native, class Begin>
int traced(MPI_Comm comm, trace::Served served, const void* site, Begin&& begin, Native&& native) {
  std::optional<trace::TracedCall> call;
  (void)guarded(MPI_ERR_OTHER, [&] {
    CommState* const state = trace::is_recording() ? state_for_call(comm) : nullptr;
    if (state == nullptr && stamps::are_kept()) stamps::lose();
    if (state == nullptr) return MPI_SUCCESS;
    if (state->intercommunicator) {
      ++state->stats.fallback_intercommunicator;
      return MPI_SUCCESS;
    }
    if (messages::are_measured()) unseen::write();
    begin(call, *state);
    return MPI_SUCCESS;
  });
  if (!call) return unrecorded(site, native);
  const int code = native();
  if (is_refusal(code)) {
    call->withdraw();
  } else {
    call->end(code == MPI_SUCCESS ? served : trace::Served::failed);
  }
  return code;
}

/// MPI_ROOT or MPI_PROC_NULL of an intercommunicator: MPI alone knows which arguments count.
bool is_without_root(int root, MPI_Comm comm) { return root < 0 && !has_identity(comm); }
int without_root(const Call& call) {
  if (is_left(call.comm)) return unrecorded(call.site, [&] { return call.native(); });
  const auto nothing = [](const auto& /*made*/, const CommState& /*state*/) {};
  return traced(call.comm, trace::Served::other, call.site, nothing, [&] { return call.native(); });
}

/// A call that the MPI library gets at once. `describe` makes the call.
template <class Describe, class Native>
int left(Describe&& describe, Native&& native) {
  if (!fast_path.counts.load(std::memory_order_relaxed)) return native();
  const Call call = describe();
  if (is_left(call.comm)) return unrecorded(call.site, native);
  const auto begin = [&](auto& made, CommState& state) { made.emplace(state, call); };
  short_vector_calls.fetch_add(1, std::memory_order_relaxed);
  return traced(call.comm, trace::Served::short_vector, call.site, begin, native);
}

/// A collective that latecomer leaves alone.
template <class Native>
int looked_at(MPI_Comm comm, std::string_view collective, std::int64_t bytes, const void* site,
              Native&& native) {
  if (!is_active() || !fast_path.counts.load(std::memory_order_relaxed)) return native();
  if (is_left(comm)) return unrecorded(site, native);
  const auto begin = [&](auto& made, CommState& state) {
    made.emplace(state, collective, bytes, site);
  };
  return traced(comm, trace::Served::other, site, begin, native);
}

/// A longer one of LATECOMER=observe. Nothing but queries of this process goes to MPI beside it.
int observed(const Call& call) {
  CommState* found = nullptr;
  const auto begin = [&](auto& made, CommState& state) {
    found = &state;
    made.emplace(state, call);
  };
  const int code =
      traced(call.comm, trace::Served::native, call.site, begin, [&] { return call.native(); });
  if (found != nullptr) {
    ++(is_refusal(code) ? found->stats.fallback_arguments : found->stats.native);
  }
  return code;
}

int enter(const Call& call) {
  if (!is_active()) return call.native();
  if (is_left(call.comm)) return unrecorded(call.site, [&] { return call.native(); });
  if (fast_path.observes) return observed(call);
  const auto execute = [&] { return execute_in_order(call); };
  if (!messages::are_traced()) return communicate(call, execute);
  return communicate(call, [&] {
    const CommState* const state = state_for_call(call.comm);
    if (state != nullptr && state->intercommunicator) return unrecorded(call.site, execute);
    unseen::write();
    return execute();
  });
}

/// Runs a call that makes a communicator, and names that. Where the program's error handler
/// returns, MPICH says MPI_SUCCESS, and what the program had in `newcomm` is no new one.
template <class Native, class Name>
int making(MPI_Comm* newcomm, Native&& native, Name&& name) {
  struct Variable {
    MPI_Comm none, before, *place;
    ~Variable() {
      if (place != nullptr && *place == none) *place = before;
    }
  } variable{{}, {}, newcomm};
  std::fill_n(reinterpret_cast<unsigned char*>(&variable.none), sizeof(MPI_Comm), 0x5a);
  if (newcomm != nullptr) variable.before = std::exchange(*newcomm, variable.none);
  const int code = native();
  if (newcomm == nullptr || !is_active()) return code;
  const bool is_there = code == MPI_SUCCESS && *newcomm != variable.none;
  (void)guarded(MPI_ERR_OTHER, [&] {
    name(is_there ? *newcomm : MPI_COMM_NULL);
    return MPI_SUCCESS;
  });
  return code;
}

/// One of the new communicator's ranks alone.
template <class Native>
int made_by_ranks(MPI_Comm parent, std::uint64_t words, MPI_Comm* newcomm, Native&& native) {
  return making(newcomm, native, [&](MPI_Comm made) { name_by_ranks(parent, words, made); });
}
/// One of all ranks of `comm`.
template <class Native>
int made_of(MPI_Comm comm, MPI_Comm* newcomm, Native&& native) {
  return making(newcomm, native, [&](MPI_Comm made) { name_child(comm, made); });
}

/// After a call that all ranks waited in, within its record: what is done here is not the
/// program's. A handle that is no communicator's has no identity: a call with it returns
/// MPI_SUCCESS where the program's error handler does.
int synchronised(MPI_Comm comm, int code) {
  if (code != MPI_SUCCESS || !is_active() || !has_identity(comm)) return code;
  (void)guarded(MPI_ERR_OTHER, [&] {
    CommState* const state = existing_state(comm);
    if (state != nullptr) after_synchronising(*state);
    return MPI_SUCCESS;
  });
  return code;
}

/// A collective of one vector. `describe` makes the call.
template <class Describe, class Native>
int of_vector(Count count, MPI_Datatype type, Describe&& describe, Native&& native) {
  return leaves(count, type) ? left(describe, native) : enter(describe());
}

/// A collective of parts. `receives`: the received part counts on this rank, else the sent one.
template <class Describe, class Native>
int of_parts(bool receives, Describe&& describe, Native&& native, Count sendcount,
             MPI_Datatype sendtype, Count recvcount, MPI_Datatype recvtype, MPI_Comm comm) {
  if (exceeds_int(sendcount, recvcount)) return enter(describe());
  const bool goes =
      receives ? leaves(recvcount, recvtype, comm) : leaves(sendcount, sendtype, comm);
  return goes ? left(describe, native) : enter(describe());
}

int as_int(Count count) { return static_cast<int>(count); }

}  // namespace

int allreduce(const void* sendbuf, void* recvbuf, Count count, MPI_Datatype type, MPI_Op op,
              MPI_Comm comm, const void* site) {
  return of_vector(
      count, type, [&] { return calls::allreduce(sendbuf, recvbuf, count, type, op, comm, site); },
      [&] { return fast_path.native.allreduce(sendbuf, recvbuf, as_int(count), type, op, comm); });
}

int reduce(const void* sendbuf, void* recvbuf, Count count, MPI_Datatype type, MPI_Op op, int root,
           MPI_Comm comm, const void* site) {
  const auto describe = [&] {
    return calls::reduce(sendbuf, recvbuf, count, type, op, root, comm, site);
  };
  if (is_without_root(root, comm)) return without_root(describe());
  return of_vector(count, type, describe, [&] {
    return fast_path.native.reduce(sendbuf, recvbuf, as_int(count), type, op, root, comm);
  });
}

int bcast(void* buffer, Count count, MPI_Datatype type, int root, MPI_Comm comm, const void* site) {
  const auto describe = [&] { return calls::bcast(buffer, count, type, root, comm, site); };
  if (is_without_root(root, comm)) return without_root(describe());
  return of_vector(count, type, describe,
                   [&] { return fast_path.native.bcast(buffer, as_int(count), type, root, comm); });
}

int allgather(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
              Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, const void* site) {
  return of_parts(
      true,
      [&] {
        return calls::allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm,
                                site);
      },
      [&] {
        return fast_path.native.allgather(sendbuf, as_int(sendcount), sendtype, recvbuf,
                                          as_int(recvcount), recvtype, comm);
      },
      sendcount, sendtype, recvcount, recvtype, comm);
}

/// The parts may differ: no rank knows at once how long the vector is.
int allgatherv(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
               const int* recvcounts, const int* displs, MPI_Datatype recvtype, MPI_Comm comm,
               const void* site) {
  const Call call = calls::allgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs,
                                      recvtype, comm, site);
  return enter(call);
}

int gather(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
           Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, const void* site) {
  const auto describe = [&] {
    return calls::gather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm,
                         site);
  };
  if (is_without_root(root, comm)) return without_root(describe());
  const auto native = [&] {
    return fast_path.native.gather(sendbuf, as_int(sendcount), sendtype, recvbuf, as_int(recvcount),
                                   recvtype, root, comm);
  };
  return of_parts(is_active() && is_root(root, comm), describe, native, sendcount, sendtype,
                  recvcount, recvtype, comm);
}

int scatter(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
            Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, const void* site) {
  const auto describe = [&] {
    return calls::scatter(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm,
                          site);
  };
  if (is_without_root(root, comm)) return without_root(describe());
  const auto native = [&] {
    return fast_path.native.scatter(sendbuf, as_int(sendcount), sendtype, recvbuf,
                                    as_int(recvcount), recvtype, root, comm);
  };
  return of_parts(!is_active() || !is_root(root, comm), describe, native, sendcount, sendtype,
                  recvcount, recvtype, comm);
}

#if LATECOMER_LARGE_COUNTS
int allgatherv(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
               const MPI_Count* recvcounts, const MPI_Aint* displs, MPI_Datatype recvtype,
               MPI_Comm comm, const void* site) {
  Call call = calls::allgather(sendbuf, sendcount, sendtype, recvbuf, 0, recvtype, comm, site);
  call.large_recvcounts = recvcounts;
  call.large_displs = displs;
  if (is_active() && recvcounts != nullptr && displs != nullptr) return enter(call);
  return PMPI_Allgatherv_c(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype,
                           comm);
}
#endif

/// A barrier whose ranks wait asleep. All ranks of the communicator must make it: they have the
/// library and this setting.
int barrier_asleep(MPI_Comm comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = PMPI_Ibarrier(comm, &request);
  return code == MPI_SUCCESS ? wait_asleep(request, comm) : code;
}

int barrier(MPI_Comm comm, const void* site) {
  static const auto native = next("MPI_Barrier", PMPI_Barrier);
  const bool asleep = fast_path.sleeps && is_active() && has_identity(comm);
  const auto call = [&] { return asleep ? barrier_asleep(comm) : native(comm); };
  return looked_at(comm, "barrier", 0, site, [&] { return synchronised(comm, call()); });
}

int alltoall(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
             Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, const void* site) {
  const std::int64_t bytes = bytes_of(recvcount, recvtype);  // of each rank for each
  const auto call = [&] {
#if LATECOMER_LARGE_COUNTS
    if (sendcount > INT_MAX || recvcount > INT_MAX) {
      static const auto large = next("MPI_Alltoall_c", PMPI_Alltoall_c);
      return large(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
    }
#endif
    static const auto native = next("MPI_Alltoall", PMPI_Alltoall);
    return native(sendbuf, static_cast<int>(sendcount), sendtype, recvbuf,
                  static_cast<int>(recvcount), recvtype, comm);
  };
  return looked_at(comm, "alltoall", bytes, site,
                   [&] { return bytes > 0 ? synchronised(comm, call()) : call(); });
}

int made(MPI_Comm comm, MPI_Comm* newcomm, const char* collective, const void* site,
         int (*native)(const void*), const void* data) {
  return made_of(comm, newcomm, [&] { return watched(comm, collective, site, native, data); });
}

int comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* newcomm,
                      const void* site) {
  static const auto native = next("MPI_Comm_create_group", PMPI_Comm_create_group);
  const auto make = [&] { return native(comm, group, tag, newcomm); };
  return made_by_ranks(comm, static_cast<std::uint64_t>(tag), newcomm,
                       [&] { return unrecorded(site, make); });
}

int made_apart(std::uint64_t tag, MPI_Comm* newcomm, const void* site, int (*native)(const void*),
               const void* data) {
  const auto make = [&] { return native(data); };
  return made_by_ranks(MPI_COMM_WORLD, tag, newcomm, [&] { return unrecorded(site, make); });
}

std::uint64_t word_of(const char* tag) { return tag != nullptr ? fnv1a(std::string_view(tag)) : 0; }
std::uint64_t word_of(int tag) { return static_cast<std::uint64_t>(tag); }

int duplicated(MPI_Comm comm, int (*native)(const void*), const void* data) {
  std::optional<Duplicating> duplicating;
  if (is_active()) duplicating.emplace(comm);
  return native(data);
}

int comm_dup(MPI_Comm comm, MPI_Comm* newcomm, const void* site) {
  static const auto native = next("MPI_Comm_dup", PMPI_Comm_dup);
  const auto make = [&] { return native(comm, newcomm); };
  const auto call = [&] { return made_of(comm, newcomm, make); };
  return looked_at(comm, "comm_dup", -1, site, [&] { return synchronised(comm, call()); });
}

int comm_split(MPI_Comm comm, int color, int key, MPI_Comm* newcomm, const void* site) {
  static const auto native = next("MPI_Comm_split", PMPI_Comm_split);
  const auto make = [&] { return native(comm, color, key, newcomm); };
  const auto call = [&] { return made_of(comm, newcomm, make); };
  return looked_at(comm, "comm_split", -1, site, [&] { return synchronised(comm, call()); });
}

int watched(MPI_Comm comm, const char* collective, const void* site, int (*native)(const void*),
            const void* data, std::int64_t bytes) {
  return looked_at(comm, collective, bytes, site, [&] { return native(data); });
}

}  // namespace latecomer::wrapped
