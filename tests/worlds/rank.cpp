#include "worlds/rank.hpp"

#include <latecomer/latecomer_mpi.h>

#include <algorithm>
#include <exception>
#include <new>

#include "worlds/values.hpp"

namespace latecomer::worlds {

template <class Code>
int Rank::ours(const Code& code) try {
  const HeapOwner owner(scheduler_.me());
  return code();
} catch (const std::exception& error) {
  findings_.fault("rank " + std::to_string(scheduler_.me()) +
                  ": an exception leaves the library: " + error.what());
  return MPI_ERR_OTHER;
}

void Rank::live() {
  int provided = 0;
  PMPI_Init_thread(nullptr, nullptr, MPI_THREAD_SINGLE, &provided);
  PMPI_Op_create(compose, 0, &compose_);
  comms_.push_back(MPI_COMM_WORLD);
  prepare(MPI_COMM_WORLD);
  for (std::size_t i = 0; i < world_.steps.size(); ++i) {
    begin(static_cast<int>(i));
    take(world_.steps[i], static_cast<int>(i));
  }
  findings_.at[scheduler_.me()] = static_cast<int>(world_.steps.size());
  if (scheduler_.me() == 0) break_at_end();
  auto& held = findings_.outcome.held;
  held = std::max(held, held_by(scheduler_.me()).bytes);
  for (std::size_t i = comms_.size(); i-- > 1;) {
    if (comms_[i] != MPI_COMM_NULL) PMPI_Comm_free(&comms_[i]);
  }
  ours([] {
    latecomer_prepare_finalize();
    return MPI_SUCCESS;
  });
  PMPI_Finalize();
}

/// The fault of rank 0 after its last call, for the test of the checks.
void Rank::break_at_end() {
  static int word = 0;
  const std::string& fault = world_.broken;
  MPI_Request request = MPI_REQUEST_NULL;
  if (fault == "message") PMPI_Isend(&word, 1, MPI_INT, 0, 99, MPI_COMM_WORLD, &request);
  if (fault == "receive") PMPI_Irecv(&word, 1, MPI_INT, 0, 99, MPI_COMM_WORLD, &request);
  if (fault == "stuck") PMPI_Recv(&word, 1, MPI_INT, 0, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (fault == "late") scheduler_.spend(7200 * kSecond);
  if (fault == "memory") {
    const HeapOwner owner(scheduler_.me());
    (void)new std::vector<char>(100'000);
  }
  if (fault == "group") {
    MPI_Group group = MPI_GROUP_NULL;
    PMPI_Comm_group(MPI_COMM_WORLD, &group);
  }
  if (fault == "datatype") {
    MPI_Datatype made = MPI_DATATYPE_NULL;
    PMPI_Type_create_resized(MPI_INT, 0, 8, &made);
  }
  for (int i = 0; fault == "communicator" && i < 5; ++i) {
    MPI_Comm made = MPI_COMM_NULL;
    PMPI_Comm_split(MPI_COMM_SELF, 0, 0, &made);
  }
  while (fault == "silence") {
    int found = 0;
    PMPI_Iprobe(0, 99, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
    scheduler_.pause(scheduler_.now() + kSecond);
  }
}

void Rank::prepare(MPI_Comm comm) {
  PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  for (const char* const collective :
       {"allreduce", "reduce", "bcast", "allgather", "gather", "scatter"}) {
    const int code =
        ours([&] { return latecomer_set_algorithm(comm, collective, world_.algorithm.c_str()); });
    // One that lacks memory as ranks meet cannot tell the others, which wait in MPI.
    if (code != MPI_SUCCESS && findings_.excused(comm)) spoil(comm);
    if (code != MPI_SUCCESS && !findings_.excused(comm) && world_.algorithm.rfind("auto", 0) == 0) {
      findings_.fault("rank " + std::to_string(scheduler_.me()) + ": cannot set " +
                      world_.algorithm + ": " + latecomer_last_error());
    }
  }
  if (world_.online) ours([&] { return latecomer_set_estimate(comm, "online"); });
}

void Rank::begin(int number) {
  const int me = scheduler_.me();
  findings_.at[me] = number;
  const Shortage& shortage = world_.shortage;
  if (shortage.rank == me && shortage.step == number) {
    fail_requests(me, shortage.resource, shortage.least, shortage.after, shortage.times);
  }
  if (world_.dies != me || world_.dies_before != number) return;
  if (world_.dies_after == 0) scheduler_.kill(me);
  scheduler_.call(scheduler_.now() + world_.dies_after, [this, me] { scheduler_.kill(me); });
}

void Rank::take(const Step& step, int number) {
  if (step.comm >= static_cast<int>(comms_.size())) return;
  const MPI_Comm comm = comms_[step.comm];
  if (step.kind == Kind::split) {
    comms_.push_back(MPI_COMM_NULL);
    if (comm != MPI_COMM_NULL && step.count > 0) split(step, comm);
    return;
  }
  if (comm == MPI_COMM_NULL) return;
  scheduler_.spend(step.compute[scheduler_.me()]);
  if (step.kind == Kind::free_comm) {
    if (step.comm > 0 && step.count > 0) PMPI_Comm_free(&comms_[step.comm]);
    return;
  }
  play(step, number, comms_[step.comm]);
}

void Rank::split(const Step& step, MPI_Comm comm) {
  const int code = PMPI_Comm_split(comm, scheduler_.me() % step.count,
                                   scheduler_.me() * (step.root % 2 == 0 ? 1 : -1), &comms_.back());
  if (code == MPI_SUCCESS) prepare(comms_.back());
}

void Rank::play(const Step& step, int number, MPI_Comm& comm) {
  int me = 0;
  int size = 0;
  if (PMPI_Comm_rank(comm, &me) != MPI_SUCCESS) return;  // this rank has freed it
  PMPI_Comm_size(comm, &size);
  constexpr MPI_Datatype kTypes[] = {MPI_INT, MPI_DOUBLE, MPI_UINT64_T};
  const Arguments right{step.count, kTypes[step.type], step.type == 2 ? compose_ : MPI_SUM,
                        step.root % size, comm};
  const auto bytes = step.count * kWidth[step.type];
  const auto more = kWidth[step.type];  // room for one element, where the count is wrong
  const bool gathers = step.kind == Kind::gather || step.kind == Kind::allgather;
  Buffers buffers;
  const bool root = me == right.root;
  if (step.kind == Kind::scatter && root) {
    buffers.mine = findings_.right(step, {number, comm}, size);
  } else {
    buffers.mine = vector_of(step, number, me, step.count);
  }
  buffers.mine.resize(buffers.mine.size() + more * size);
  buffers.got.resize((gathers ? bytes * size : bytes) + more * size);
  if (step.kind == Kind::bcast && root) buffers.got = buffers.mine;
  if (step.wrong != Wrong::none && step.wrong_rank == scheduler_.me()) {
    if (!ask_wrongly(step, right, buffers, number, comm)) return;
  }
  const int code = call(step, right, buffers);
  buffers.got.resize(gathers ? bytes * size : bytes);
  finish(step, {number, right.comm}, me, size, code, buffers);
}

bool Rank::ask_wrongly(const Step& step, const Arguments& right, Buffers& buffers, int number,
                       MPI_Comm& comm) {
  Arguments asked = right;
  const bool reduces = step.kind == Kind::allreduce || step.kind == Kind::reduce;
  Wrong wrong = step.wrong;
  if ((wrong == Wrong::null_op || wrong == Wrong::op) && !reduces) wrong = Wrong::negative;
  const bool rooted = step.kind != Kind::allreduce && step.kind != Kind::allgather;
  if ((wrong == Wrong::root || wrong == Wrong::other_root) && !rooted) wrong = Wrong::negative;
  if (wrong == Wrong::buffer && step.count == 0) wrong = Wrong::negative;
  if (!is_refused(step.wrong) && is_refused(wrong)) return true;  // there is no such argument
  if (wrong == Wrong::negative) asked.count = -1;
  if (wrong == Wrong::root) asked.root = -1;
  if (wrong == Wrong::null_op) asked.op = MPI_OP_NULL;
  if (wrong == Wrong::count) asked.count = step.root % 2 == 0 ? step.count + 1 : step.count / 2;
  if (wrong == Wrong::type) asked.type = step.type == 0 ? MPI_SHORT : MPI_FLOAT;
  if (wrong == Wrong::op) asked.op = step.type == 2 ? MPI_SUM : MPI_MAX;
  const int size = static_cast<int>(Within()->find(comm)->members.size());
  if (wrong == Wrong::other_root) asked.root = (right.root + 1) % size;
  buffers.none = wrong == Wrong::buffer;
  const bool goes_on = is_refused(wrong) && step.again;
  if (!goes_on) {
    findings_.excuse(comm);
    findings_.unchecked.insert({number, comm});
  }
  if (rooted && !is_refused(wrong) && wrong != Wrong::freed) {
    // Not all ranks wait for each other: with MPI alone, too, nobody need notice, and later calls
    // receive what was sent.
    spoil(comm);
    findings_.broken = true;
  }
  if (wrong == Wrong::freed && comm != MPI_COMM_WORLD) PMPI_Comm_free(&comm);
  if (wrong == Wrong::freed || (is_refused(wrong) && !goes_on)) spoil(asked.comm);
  int code = call(step, asked, buffers);
  buffers.none = false;
  if (!goes_on) note_error(asked.comm, code);
  if (breaks("refused")) code = MPI_SUCCESS;
  if (code == MPI_SUCCESS && is_refused(wrong)) {
    findings_.fault("step " + std::to_string(number) + ", rank " + std::to_string(scheduler_.me()) +
                    ": wrong arguments are not refused");
  }
  return goes_on;
}

/// From now on the calls of the communicator's ranks may not fit.
void Rank::spoil(MPI_Comm comm) { Within()->comms.at(comm)->spoiled = true; }

/// Other errors than the MPI library's own, of messages that do not fit, end the communicator's use
/// on some ranks before others.
void Rank::note_error(MPI_Comm comm, int code) {
  if (code == MPI_SUCCESS || code == MPI_ERR_TRUNCATE) return;
  spoil(comm);
  findings_.broken = true;
}

int Rank::call(const Step& step, const Arguments& asked, Buffers& buffers) {
  const auto& [count, type, op, root, comm] = asked;
  char* const mine = buffers.none ? nullptr : buffers.mine.data();
  char* const got = buffers.none ? nullptr : buffers.got.data();
  return ours([&] {
    if (breaks("exception")) throw std::bad_alloc();
    if (breaks("growth")) (void)operator new(1);
    if (breaks("barrier")) PMPI_Barrier(comm);
    switch (step.kind) {
      case Kind::allreduce:
        return latecomer_allreduce(mine, got, count, type, op, comm);
      case Kind::reduce:
        return latecomer_reduce(mine, got, count, type, op, root, comm);
      case Kind::bcast:
        return latecomer_bcast(got, count, type, root, comm);
      case Kind::allgather:
        return latecomer_allgather(mine, count, type, got, count, type, comm);
      case Kind::gather:
        return latecomer_gather(mine, count, type, got, count, type, root, comm);
      case Kind::scatter:
        return latecomer_scatter(mine, count, type, got, count, type, root, comm);
      default:
        return MPI_SUCCESS;
    }
  });
}

void Rank::finish(const Step& step, const Called& called, int me, int size, int code,
                  Buffers& buffers) {
  const MPI_Comm comm = called.second;
  std::vector<char>& got = buffers.got;
  ++findings_.outcome.calls;
  if (breaks("error")) code = MPI_ERR_OTHER;
  if (breaks("data")) got.back() ^= 0x40;  // the exponent of a double
  if (breaks("bits")) got[0] ^= 1;         // its last bit
  if (code != MPI_SUCCESS) {
    ++findings_.outcome.told;
    if (findings_.excused(comm)) note_error(comm, code);
    if (world_.dies < 0 && !findings_.excused(comm)) {
      findings_.fault("step " + std::to_string(called.first) + ", rank " +
                      std::to_string(scheduler_.me()) + ": error: " + latecomer_last_error());
    }
    return;
  }
  if (findings_.unchecked.contains(called) || Within()->comms.at(comm)->spoiled) return;
  const bool for_root = step.kind == Kind::reduce || step.kind == Kind::gather;
  if (!for_root || me == step.root % size) findings_.check(step, called, me, size, got);
  if (findings_.excused(comm)) return;
  latecomer_stats stats{};
  ours([&] { return latecomer_get_stats(comm, &stats); });
  if (breaks("decision")) ++stats.handled;
  findings_.check_counts(called, {stats.handled, stats.native});
}

}  // namespace latecomer::worlds
