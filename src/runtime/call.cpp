#include "runtime/call.hpp"

#include <algorithm>
#include <numeric>

#include "runtime/operators.hpp"

namespace latecomer {
namespace {

Count size_of(MPI_Datatype type) {
  MPI_Count bytes = 0;
  PMPI_Type_size_x(type, &bytes);
  return bytes;
}

/// MPI_BOTTOM, which derived types may count from, is a null pointer too.
bool missing(const void* data, Count count, MPI_Datatype type) {
  if (data != nullptr || count == 0 || size_of(type) == 0) return false;
  int integers = 0;
  int addresses = 0;
  int types = 0;
  int combiner = MPI_COMBINER_NAMED;
  PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
  return combiner == MPI_COMBINER_NAMED;
}

bool wrong_side(const void* data, Count count, MPI_Datatype type) {
  return count < 0 || type == MPI_DATATYPE_NULL || missing(data, count, type);
}

bool wrong_parts(const Call& call, Rank ranks) {
  if (call.recvcounts == nullptr) return wrong_side(call.recvbuf, call.recvcount, call.recvtype);
  return call.displs == nullptr || call.recvtype == MPI_DATATYPE_NULL ||
         std::any_of(call.recvcounts, call.recvcounts + ranks,
                     [&](int count) { return wrong_side(call.recvbuf, count, call.recvtype); });
}

bool wrong_reduction(const Call& call, bool receives) {
  if (call.op == MPI_OP_NULL) return true;
  if (wrong_side(call.sendbuf, call.sendcount, call.sendtype)) return true;
  if (!receives) return call.sendbuf == MPI_IN_PLACE;
  if (missing(call.recvbuf, call.sendcount, call.sendtype)) return true;
  return call.recvbuf == MPI_IN_PLACE || (call.sendcount > 0 && call.sendbuf == call.recvbuf);
}

/// Of all-gather, gather: what `me` receives must be as long as what it sends.
bool wrong_gathering(const Call& call, Rank ranks, Rank me, bool receives) {
  if (receives && (wrong_parts(call, ranks) || call.recvbuf == MPI_IN_PLACE)) return true;
  if (call.sendbuf == MPI_IN_PLACE) return !receives;
  if (wrong_side(call.sendbuf, call.sendcount, call.sendtype)) return true;
  if (!receives) return false;
  const Count received = call.recvcounts == nullptr ? call.recvcount : call.recvcounts[me];
  return call.sendcount * size_of(call.sendtype) != received * size_of(call.recvtype);
}

bool wrong_scattering(const Call& call, bool sends) {
  if (sends && wrong_side(call.sendbuf, call.sendcount, call.sendtype)) return true;
  if (call.recvbuf == MPI_IN_PLACE) return !sends;
  if (wrong_side(call.recvbuf, call.recvcount, call.recvtype)) return true;
  return sends &&
         call.sendcount * size_of(call.sendtype) != call.recvcount * size_of(call.recvtype);
}

void add_reduction(Problem& problem, const Call& call) {
  int commutative = 0;
  PMPI_Op_commutative(call.op, &commutative);
  problem.count = call.sendcount;
  problem.element_bytes = size_of(call.sendtype);
  problem.commutative = commutative != 0;
  problem.exact = exact(call.op, call.sendtype);
}

void add_moved(Problem& problem, const Call& call, Rank me) {
  problem.element_bytes = 1;
  if (call.recvcounts != nullptr) {
    const Count bytes = size_of(call.recvtype);
    for (Rank rank = 0; rank < problem.ranks; ++rank) {
      problem.parts.push_back(call.recvcounts[rank] * bytes);
    }
    problem.count = std::accumulate(problem.parts.begin(), problem.parts.end(), Count{0});
    return;
  }
  // Of the root all that is significant is the side that holds the whole vector.
  const bool root = me == call.root;
  const bool sends = problem.collective == Collective::gather    ? !root
                     : problem.collective == Collective::scatter ? root
                                                                 : false;
  const Count bytes =
      sends ? call.sendcount * size_of(call.sendtype) : call.recvcount * size_of(call.recvtype);
  problem.count = parted(problem.collective) ? problem.ranks * bytes : bytes;
}

}  // namespace

bool wrong(const Call& call, Rank ranks, Rank me) {
  if (rooted(call.collective) && (call.root < 0 || call.root >= ranks)) return true;
  const bool root = !rooted(call.collective) || me == call.root;
  switch (call.collective) {
    case Collective::allreduce:
    case Collective::reduce:
      return wrong_reduction(call, root);
    case Collective::allgather:
    case Collective::gather:
      return wrong_gathering(call, ranks, me, root);
    case Collective::scatter:
      return wrong_scattering(call, root);
    case Collective::bcast:
      return wrong_side(call.recvbuf, call.recvcount, call.recvtype) ||
             call.recvbuf == MPI_IN_PLACE;
  }
  return true;
}

Problem problem_of(const Call& call, Rank ranks, Rank me) {
  Problem problem;
  problem.collective = call.collective;
  problem.ranks = ranks;
  problem.root = rooted(call.collective) ? call.root : 0;
  problem.in_place = call.in_place();
  if (combines(call.collective)) {
    add_reduction(problem, call);
  } else {
    add_moved(problem, call, me);
  }
  return problem;
}

}  // namespace latecomer
