#include "worlds/rank.hpp"

#include <algorithm>
#include <new>

#include "worlds/values.hpp"

namespace latecomer::worlds {

void Rank::live() {
  int provided = 0;
  if (world_.dropin) scheduler_.spend(world_.begins[scheduler_.me()]);
  calls_.init_thread(nullptr, nullptr, MPI_THREAD_SINGLE, &provided);
  PMPI_Op_create(compose, 0, &compose_);
  comms_.push_back(MPI_COMM_WORLD);
  prepare(MPI_COMM_WORLD);
  for (std::size_t i = 0; i < world_.steps.size(); ++i) {
    begin(static_cast<int>(i));
    take(world_.steps[i], static_cast<int>(i));
  }
  findings_.at[scheduler_.me()] = static_cast<int>(world_.steps.size());
  wait_for_rest();
  if (scheduler_.me() == 0) break_at_end();
  auto& held = findings_.outcome.held;
  held = std::max(held, held_by(scheduler_.me()).bytes);
  for (std::size_t i = comms_.size(); i-- > 1;) {
    if (comms_[i] != MPI_COMM_NULL) PMPI_Comm_free(&comms_[i]);
  }
  ours([&] {
    if (calls_.c_api != nullptr) calls_.c_api->prepare_finalize();
    return calls_.finalize();
  });
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
  if (calls_.c_api == nullptr) return;
  const CApi& c_api = *calls_.c_api;
  for (const char* const collective :
       {"allreduce", "reduce", "bcast", "allgather", "gather", "scatter"}) {
    const int code =
        ours([&] { return c_api.set_algorithm(comm, collective, world_.algorithm.c_str()); });
    // One that lacks memory as ranks meet cannot tell the others, which wait in MPI.
    if (code != MPI_SUCCESS && findings_.excused(comm)) spoil(comm);
    if (code != MPI_SUCCESS && !findings_.excused(comm) && world_.algorithm.rfind("auto", 0) == 0) {
      findings_.fault("rank " + std::to_string(scheduler_.me()) + ": cannot set " +
                      world_.algorithm + ": " + latecomer_last_error());
    }
  }
  if (world_.online) ours([&] { return c_api.set_estimate(comm, "online"); });
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
    if (comm != MPI_COMM_NULL && step.count > 0) split(step, number, comm);
    return;
  }
  if (comm == MPI_COMM_NULL) return;
  compute(step, comm);
  if (step.kind == Kind::free_comm) {
    if (step.comm == 0 || step.count == 0) return;
    PMPI_Comm_free(&comms_[step.comm]);
    drop_requests(comm);
    return;
  }
  if (step.kind == Kind::wait) return wait_for_all(step, number, comm);
  play(step, number, comms_[step.comm]);
}

void Rank::compute(const Step& step, MPI_Comm comm) {
  const Time all = step.compute[scheduler_.me()];
  if (!step.tells) return scheduler_.spend(all);
  int code = ours([&] { return calls_.c_api->compute_begin(comm); });
  for (int i = 1; i <= 4; ++i) {
    scheduler_.spend(all / 4);
    if (code == MPI_SUCCESS) {
      code = ours([&] { return calls_.c_api->compute_progress(comm, i / 4.0); });
    }
  }
  if (code == MPI_SUCCESS) code = ours([&] { return calls_.c_api->compute_end(comm); });
  if (code != MPI_SUCCESS && !findings_.excused(comm)) {
    findings_.fault("rank " + std::to_string(scheduler_.me()) +
                    ": cannot tell how far it is: " + latecomer_last_error());
  }
}

void Rank::split(const Step& step, int number, MPI_Comm comm) {
  const bool keeps_order = step.root % 2 == 0;
  if (world_.dropin && !keeps_order) {
    traced(number, "barrier", comm, [&] { return calls_.barrier(comm); });
  }
  const auto dup = [&] { return calls_.dup(comm, &comms_.back()); };
  const auto split = [&] {
    return calls_.split(comm, scheduler_.me() % step.count,
                        scheduler_.me() * (keeps_order ? 1 : -1), &comms_.back());
  };
  const bool copies = keeps_order && step.count == 1;
  const int code = !world_.dropin ? ours(split)
                   : copies       ? traced(number, "comm_dup", comm, dup)
                                  : traced(number, "comm_split", comm, split);
  if (code == MPI_SUCCESS) prepare(comms_.back());
}

Rank::Arguments Rank::arguments_of(const Turn& turn) const {
  constexpr MPI_Datatype kTypes[] = {MPI_INT, MPI_DOUBLE, MPI_UINT64_T};
  const Step& step = *turn.step;
  return {step.count, kTypes[step.type], step.type == 2 ? compose_ : MPI_SUM, step.root % turn.size,
          turn.comm};
}

void Rank::fill(const Turn& turn, Buffers& buffers) {
  const Step& step = *turn.step;
  const bool gathers = step.kind == Kind::gather || step.kind == Kind::allgather;
  const auto bytes = step.count * kWidth[step.type];
  const auto more = kWidth[step.type] * turn.size;  // room for further ones, where counts are wrong
  const bool root = turn.me == step.root % turn.size;
  const std::vector<char> mine = step.kind == Kind::scatter && root
                                     ? findings_.right(step, {turn.number, turn.comm}, turn.size)
                                     : vector_of(step, turn.number, turn.me, step.count);
  // A persistent call's buffers stay where they are.
  buffers.mine.resize(mine.size() + more);
  std::copy(mine.begin(), mine.end(), buffers.mine.begin());
  buffers.got.resize((gathers ? bytes * turn.size : bytes) + more);
  std::fill(buffers.got.begin(), buffers.got.end(), 0);
  if (step.kind == Kind::bcast && root) std::copy(mine.begin(), mine.end(), buffers.got.begin());
}

void Rank::play(const Step& step, int number, MPI_Comm& comm) {
  Turn turn{&step, number, comm, 0, 0};
  if (PMPI_Comm_rank(comm, &turn.me) != MPI_SUCCESS) return;  // this rank has freed it
  PMPI_Comm_size(comm, &turn.size);
  const Arguments right = arguments_of(turn);
  const bool starts = step.request >= 0;
  Buffers own;
  Persistent* const request = starts ? &requests_[step.request] : nullptr;
  if (starts && request->started) return;
  Buffers& buffers = starts ? request->buffers : own;
  fill(turn, buffers);
  if (step.wrong != Wrong::none && step.wrong_rank == scheduler_.me()) {
    if (!ask_wrongly(turn, right, buffers, comm)) return;
  }
  if (starts) return start(turn, *request, right);
  const int code = call(turn, right, buffers);
  finish(turn, code, buffers);
  if (code == MPI_SUCCESS) check_counts({number, right.comm});
}

bool Rank::ask_wrongly(const Turn& turn, const Arguments& right, Buffers& buffers, MPI_Comm& comm) {
  const Step& step = *turn.step;
  const int number = turn.number;
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
  if (wrong == Wrong::other_root) asked.root = (right.root + 1) % turn.size;
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
  const bool frees = wrong == Wrong::freed && comm != MPI_COMM_WORLD;
  if (wrong == Wrong::freed || (is_refused(wrong) && !goes_on)) spoil(asked.comm);
  if (step.request >= 0) {
    start_wrongly(turn, asked, buffers, is_refused(wrong), frees ? &comm : nullptr);
    buffers.none = false;
    return goes_on;
  }
  if (frees) {
    PMPI_Comm_free(&comm);
    drop_requests(asked.comm);
  }
  int code = call(turn, asked, buffers);
  buffers.none = false;
  if (!goes_on) note_error(asked.comm, code);
  if (breaks("refused")) code = MPI_SUCCESS;
  if (code == MPI_SUCCESS && is_refused(wrong)) not_refused(number);
  return goes_on;
}

void Rank::not_refused(int number) {
  findings_.fault("step " + std::to_string(number) + ", rank " + std::to_string(scheduler_.me()) +
                  ": wrong arguments are not refused");
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

int Rank::call(const Turn& turn, const Arguments& asked, Buffers& buffers) {
  const Step& step = *turn.step;
  const auto& [count, type, op, root, comm] = asked;
  char* const mine = buffers.none ? nullptr : buffers.mine.data();
  char* const got = buffers.none ? nullptr : buffers.got.data();
  constexpr const char* kNames[] = {"allreduce", "reduce", "bcast",
                                    "allgather", "gather", "scatter"};
  return traced(turn.number, kNames[static_cast<int>(step.kind)], comm, [&] {
    if (breaks("exception")) throw std::bad_alloc();
    if (breaks("growth")) (void)operator new(1);
    if (breaks("barrier")) PMPI_Barrier(comm);
    switch (step.kind) {
      case Kind::allreduce:
        return calls_.allreduce(mine, got, count, type, op, comm);
      case Kind::reduce:
        return calls_.reduce(mine, got, count, type, op, root, comm);
      case Kind::bcast:
        return calls_.bcast(got, count, type, root, comm);
      case Kind::allgather:
        return calls_.allgather(mine, count, type, got, count, type, comm);
      case Kind::gather:
        return calls_.gather(mine, count, type, got, count, type, root, comm);
      case Kind::scatter:
        return calls_.scatter(mine, count, type, got, count, type, root, comm);
      default:
        return MPI_SUCCESS;
    }
  });
}

void Rank::finish(const Turn& turn, int code, Buffers& buffers) {
  const Step& step = *turn.step;
  const Called called{turn.number, turn.comm};
  std::vector<char>& got = buffers.got;
  got.resize(got.size() - kWidth[step.type] * turn.size);  // as fill() made it longer
  ++findings_.outcome.calls;
  if (breaks("error")) code = MPI_ERR_OTHER;
  if (breaks("data")) got.back() ^= 0x40;  // the exponent of a double
  if (breaks("bits")) got[0] ^= 1;         // its last bit
  if (code != MPI_SUCCESS) {
    ++findings_.outcome.told;
    if (findings_.excused(turn.comm)) note_error(turn.comm, code);
    if (world_.dies < 0 && !findings_.excused(turn.comm)) {
      findings_.fault("step " + std::to_string(turn.number) + ", rank " +
                      std::to_string(scheduler_.me()) + ": error: " + latecomer_last_error());
    }
    return;
  }
  if (findings_.unchecked.contains(called) || Within()->comms.at(turn.comm)->spoiled) return;
  const bool for_root = step.kind == Kind::reduce || step.kind == Kind::gather;
  if (!for_root || turn.me == step.root % turn.size) {
    findings_.check(step, called, turn.me, turn.size, got);
  }
}

/// All ranks have carried out the same calls of the communicator.
void Rank::check_counts(const Called& called) {
  const MPI_Comm comm = called.second;
  if (findings_.unchecked.contains(called) || Within()->comms.at(comm)->spoiled) return;
  if (findings_.excused(comm) || scheduler_.me() == world_.without) return;
  latecomer_stats stats{};
  ours([&] { return latecomer_get_stats(comm, &stats); });
  if (breaks("decision")) ++stats.handled;
  findings_.check_counts(called, {stats.handled, stats.native});
}

}  // namespace latecomer::worlds
