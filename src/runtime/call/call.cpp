#include "runtime/call/call.hpp"

#include <algorithm>
#include <climits>
#include <numeric>

#include "runtime/call/datatypes.hpp"
#include "transports/mpi/layout.hpp"
#include "transports/mpi/user_code.hpp"

namespace latecomer {
namespace {

/// A datatype of a call; MPI is asked for its size once, if at all.
class Sized {
 public:
  Sized(MPI_Datatype type, MPI_Comm own) : type_(type), own_(own) {}
  /// It is none, or one that messages may not be of, as far as is known.
  [[nodiscard]] bool unusable() const {
    if (type_ == MPI_DATATYPE_NULL) return true;
    if (own_ == MPI_COMM_NULL) return false;
    for (const MPI_Datatype usual : {MPI_BYTE, MPI_CHAR, MPI_INT, MPI_FLOAT, MPI_DOUBLE}) {
      if (type_ == usual) return false;
    }
    return !is_committed(type_, own_);
  }
  [[nodiscard]] bool named() const { return combiner_of(type_) == MPI_COMBINER_NAMED; }
  [[nodiscard]] Count size() const {
    if (size_ < 0) size_ = size_of(type_);
    return size_;
  }

 private:
  MPI_Datatype type_;
  MPI_Comm own_;
  mutable Count size_ = -1;
};

/// The meaning of one call's arguments on one rank.
class Reading {
 public:
  /// `own`: a communicator of ours; null: it is not asked whether datatypes are committed.
  Reading(const Call& call, Rank ranks, Rank me, MPI_Comm own)
      : call_(call), ranks_(ranks), me_(me), send_(call.sendtype, own), recv_(call.recvtype, own) {}

  [[nodiscard]] bool refused() const;
  [[nodiscard]] bool lengths_differ() const;
  [[nodiscard]] Problem problem() const;

 private:
  [[nodiscard]] bool root() const { return !rooted(call_.collective) || me_ == call_.root; }
  [[nodiscard]] bool wrong_parts() const;
  [[nodiscard]] bool wrong_reduction() const;
  [[nodiscard]] bool wrong_gathering() const;
  [[nodiscard]] bool wrong_scattering() const;
  void add_reduction(Problem& problem) const;
  void add_moved(Problem& problem) const;

  const Call& call_;
  Rank ranks_, me_;
  Sized send_, recv_;
};

/// MPI_BOTTOM, which derived types may count from, is a null pointer too.
bool missing(const void* data, Count count, const Sized& type) {
  return data == nullptr && count != 0 && type.size() != 0 && type.named();
}

bool wrong_side(const void* data, Count count, const Sized& type) {
  return count < 0 || type.unusable() || missing(data, count, type);
}

bool Reading::refused() const {
  if (rooted(call_.collective) && (call_.root < 0 || call_.root >= ranks_)) return true;
  switch (call_.collective) {
    case Collective::allreduce:
    case Collective::reduce:
      return wrong_reduction();
    case Collective::allgather:
    case Collective::gather:
      return wrong_gathering();
    case Collective::scatter:
      return wrong_scattering();
    case Collective::bcast:
      return wrong_side(call_.recvbuf, call_.recvcount, recv_) || call_.recvbuf == MPI_IN_PLACE;
  }
  return true;
}

bool Reading::wrong_parts() const {
  if (!call_.parts_differ()) return wrong_side(call_.recvbuf, call_.recvcount, recv_);
  if (recv_.unusable() || call_.recvcounts == kNoCounts) return true;
  if (call_.displs == nullptr && call_.large_displs == nullptr) return true;
  for (Rank rank = 0; rank < ranks_; ++rank) {
    if (wrong_side(call_.recvbuf, call_.part_count(rank), recv_)) return true;
  }
  return false;
}

bool Reading::wrong_reduction() const {
  if (call_.op == MPI_OP_NULL) return true;
  if (wrong_side(call_.sendbuf, call_.sendcount, send_)) return true;
  if (!root()) return call_.sendbuf == MPI_IN_PLACE;
  if (missing(call_.recvbuf, call_.sendcount, send_)) return true;
  return call_.recvbuf == MPI_IN_PLACE || (call_.sendcount > 0 && call_.sendbuf == call_.recvbuf);
}

bool Reading::wrong_gathering() const {
  if (root() && (wrong_parts() || call_.recvbuf == MPI_IN_PLACE)) return true;
  if (call_.sendbuf == MPI_IN_PLACE) return !root();
  return wrong_side(call_.sendbuf, call_.sendcount, send_);
}

bool Reading::wrong_scattering() const {
  if (root() && wrong_side(call_.sendbuf, call_.sendcount, send_)) return true;
  if (call_.recvbuf == MPI_IN_PLACE) return !root();
  return wrong_side(call_.recvbuf, call_.recvcount, recv_);
}

/// The part that this rank receives from itself must be as long as the part that it sends.
bool Reading::lengths_differ() const {
  if (combines(call_.collective) || call_.collective == Collective::bcast || !root()) return false;
  if (call_.in_place()) return false;
  const Count received = call_.parts_differ() ? call_.part_count(me_) : call_.recvcount;
  return call_.sendcount * send_.size() != received * recv_.size();
}

Problem Reading::problem() const {
  Problem problem;
  problem.collective = call_.collective;
  problem.ranks = ranks_;
  problem.root = rooted(call_.collective) ? call_.root : 0;
  problem.in_place = call_.in_place();
  if (combines(call_.collective)) {
    add_reduction(problem);
  } else {
    add_moved(problem);
  }
  return problem;
}

void Reading::add_reduction(Problem& problem) const {
  problem.count = call_.sendcount;
  problem.element_bytes = send_.size();
  problem.exact = exact(call_.op);
  if (kind_of(call_.op) == OperatorKind::built_in) return;
  int commutative = 0;
  PMPI_Op_commutative(call_.op, &commutative);
  problem.commutative = commutative != 0;
}

void Reading::add_moved(Problem& problem) const {
  problem.element_bytes = 1;
  if (call_.parts_differ()) {
    for (Rank rank = 0; rank < problem.ranks; ++rank) {
      problem.parts.push_back(call_.part_count(rank) * recv_.size());
    }
    problem.count = std::accumulate(problem.parts.begin(), problem.parts.end(), Count{0});
    return;
  }
  // On the root only the side that holds the whole vector is significant.
  const bool sends = problem.collective == Collective::gather    ? !root()
                     : problem.collective == Collective::scatter ? root()
                                                                 : false;
  const Count bytes = sends ? call_.sendcount * send_.size() : call_.recvcount * recv_.size();
  problem.count = parted(problem.collective) ? problem.ranks * bytes : bytes;
}

int parts_natively(const Call& call) {
  const int* const counts = call.recvcounts == kNoCounts ? nullptr : call.recvcounts;
  return native_calls.allgatherv(call.sendbuf, static_cast<int>(call.sendcount), call.sendtype,
                                 call.recvbuf, counts, call.displs, call.recvtype, call.comm);
}

/// `mpi`: its functions, with counts of this type.
template <class Number, class Functions>
int natively(const Functions& mpi, const Call& call) {
  const auto sent = static_cast<Number>(call.sendcount);
  const auto received = static_cast<Number>(call.recvcount);
  switch (call.collective) {
    case Collective::allreduce:
      return mpi.allreduce(call.sendbuf, call.recvbuf, sent, call.sendtype, call.op, call.comm);
    case Collective::reduce:
      return mpi.reduce(call.sendbuf, call.recvbuf, sent, call.sendtype, call.op, call.root,
                        call.comm);
    case Collective::bcast:
      return mpi.bcast(call.recvbuf, received, call.recvtype, call.root, call.comm);
    case Collective::allgather:
      if (call.recvcounts != nullptr) return parts_natively(call);
      return mpi.allgather(call.sendbuf, sent, call.sendtype, call.recvbuf, received, call.recvtype,
                           call.comm);
    case Collective::gather:
      return mpi.gather(call.sendbuf, sent, call.sendtype, call.recvbuf, received, call.recvtype,
                        call.root, call.comm);
    case Collective::scatter:
      return mpi.scatter(call.sendbuf, sent, call.sendtype, call.recvbuf, received, call.recvtype,
                         call.root, call.comm);
  }
  return MPI_ERR_OTHER;
}

#if MPI_VERSION >= 4
struct LargeCalls {
  decltype(&PMPI_Allreduce_c) allreduce = PMPI_Allreduce_c;
  decltype(&PMPI_Reduce_c) reduce = PMPI_Reduce_c;
  decltype(&PMPI_Bcast_c) bcast = PMPI_Bcast_c;
  decltype(&PMPI_Allgather_c) allgather = PMPI_Allgather_c;
  decltype(&PMPI_Gather_c) gather = PMPI_Gather_c;
  decltype(&PMPI_Scatter_c) scatter = PMPI_Scatter_c;
};
#endif

int natively(const Call& call) {
#if MPI_VERSION >= 4
  if (call.large_recvcounts != nullptr) {
    return PMPI_Allgatherv_c(call.sendbuf, call.sendcount, call.sendtype, call.recvbuf,
                             call.large_recvcounts, call.large_displs, call.recvtype, call.comm);
  }
  if (call.sendcount > INT_MAX || call.recvcount > INT_MAX) {
    return natively<MPI_Count>(LargeCalls{}, call);
  }
#endif
  return natively<int>(native_calls, call);
}

}  // namespace

MPI_Datatype Call::element() const {
  return combines(collective) ? combined_as(op, sendtype) : MPI_BYTE;
}

int Call::native() const {
  return UserCode::run([this] { return natively(*this); });
}

bool refused(const Call& call, Rank ranks, Rank me, MPI_Comm own) {
  return Reading(call, ranks, me, own).refused();
}

bool is_refusal(int code) {
  if (code == MPI_SUCCESS) return false;
  int category = MPI_SUCCESS;
  PMPI_Error_class(code, &category);
  constexpr std::array kRefusals{MPI_ERR_BUFFER, MPI_ERR_COUNT, MPI_ERR_TYPE,
                                 MPI_ERR_OP,     MPI_ERR_ROOT,  MPI_ERR_ARG};
  return std::ranges::find(kRefusals, category) != kRefusals.end();
}

Problem problem_of(const Call& call, Rank ranks, Rank me) {
  return Reading(call, ranks, me, MPI_COMM_NULL).problem();
}

std::optional<Problem> checked_problem_of(const Call& call, Rank ranks, Rank me, MPI_Comm own) {
  const Reading reading(call, ranks, me, own);
  if (reading.refused() || reading.lengths_differ()) return std::nullopt;
  return reading.problem();
}

std::vector<Block> received_blocks(const Call& call, Rank ranks) {
  const bool gathers =
      call.collective == Collective::allgather || call.collective == Collective::gather;
  if (!call.parts_differ()) return {{0, call.recvcount * (gathers ? ranks : 1)}};
  std::vector<Block> blocks;
  for (Rank rank = 0; rank < ranks; ++rank) {
    blocks.push_back({call.part_begin(rank), call.part_count(rank)});
  }
  return blocks;
}

}  // namespace latecomer
