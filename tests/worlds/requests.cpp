// A rank's persistent calls: made, started on several communicators, waited for in an order of the
// rank's own, used again, and freed.
#include <algorithm>

#include "worlds/rank.hpp"

namespace latecomer::worlds {

void Rank::expect(int code, int right, int number, const char* function) {
  if (code == right) return;
  findings_.fault("step " + std::to_string(number) + ", rank " + std::to_string(scheduler_.me()) +
                  ": " + function + " returns " + std::to_string(code) + " and not " +
                  std::to_string(right) + ": " + latecomer_last_error());
}

void Rank::announce(const Turn& turn, const Arguments& asked, Persistent& request) {
  const auto& [count, type, op, root, comm] = asked;
  char* const mine = request.buffers.none ? nullptr : request.buffers.mine.data();
  char* const got = request.buffers.none ? nullptr : request.buffers.got.data();
  constexpr MPI_Info kNoInfo = MPI_INFO_NULL;
  latecomer_request* const made = &request.handle;
  const auto try_once = [&] {
    switch (turn.step->kind) {
      case Kind::allreduce:
        return calls_.c_api->allreduce_init(mine, got, count, type, op, comm, kNoInfo, made);
      case Kind::reduce:
        return calls_.c_api->reduce_init(mine, got, count, type, op, root, comm, kNoInfo, made);
      case Kind::bcast:
        return calls_.c_api->bcast_init(got, count, type, root, comm, kNoInfo, made);
      case Kind::allgather:
        return calls_.c_api->allgather_init(mine, count, type, got, count, type, comm, kNoInfo,
                                            made);
      case Kind::gather:
        return calls_.c_api->gather_init(mine, count, type, got, count, type, root, comm, kNoInfo,
                                         made);
      default:
        return calls_.c_api->scatter_init(mine, count, type, got, count, type, root, comm, kNoInfo,
                                          made);
    }
  };
  int code = MPI_ERR_NO_MEM;
  while (code == MPI_ERR_NO_MEM) {  // a rank that lacks memory tries again: it is no call yet
    const auto failed = failed_requests();
    code = ours(try_once);
    if (failed_requests() == failed) break;
  }
  expect(code, MPI_SUCCESS, turn.number, "a function that makes a request");
}

void Rank::free_request(Persistent& request) {
  if (request.handle == LATECOMER_REQUEST_NULL) return;
  const int code = ours([&] { return calls_.c_api->request_free(&request.handle); });
  expect(code, MPI_SUCCESS, request.turn.number, "latecomer_request_free");
}

void Rank::start(const Turn& turn, Persistent& request, const Arguments& asked) {
  request.turn = turn;
  if (request.handle == LATECOMER_REQUEST_NULL) announce(turn, asked, request);
  request.started = true;
  if (breaks("order")) return;
  const int code = ours([&] { return calls_.c_api->start(&request.handle); });
  expect(code, MPI_SUCCESS, turn.number, "latecomer_start");
}

void Rank::start_wrongly(const Turn& turn, const Arguments& asked, Buffers buffers, bool is_refused,
                         MPI_Comm* freed) {
  Persistent& request = requests_[-1 - turn.number];
  request.buffers = std::move(buffers);
  request.refused = is_refused;
  request.wrong = true;
  if (freed == nullptr) return start(turn, request, asked);
  request.turn = turn;
  announce(turn, asked, request);
  PMPI_Comm_free(freed);
  const int code = ours([&] { return calls_.c_api->start(&request.handle); });
  expect(code, MPI_ERR_REQUEST, turn.number, "latecomer_start on a freed communicator");
  drop_requests(asked.comm);
}

bool Rank::wait_for(Persistent& request) {
  const Turn& turn = request.turn;
  if (breaks("order")) ours([&] { return calls_.c_api->start(&request.handle); });
  const int code = ours([&] { return calls_.c_api->wait(&request.handle); });
  request.started = false;
  if (!request.wrong) {
    finish(turn, code, request.buffers);
    return code == MPI_SUCCESS;
  }
  if (request.refused && code == MPI_SUCCESS) not_refused(turn.number);
  if (findings_.excused(turn.comm)) note_error(turn.comm, code);
  return request.refused;
}

void Rank::wait_for_all(const Step& step, int number, MPI_Comm comm) {
  std::vector<Persistent*> all;
  for (auto& [id, request] : requests_) {
    if (request.turn.comm == comm && request.started) all.push_back(&request);
  }
  std::minstd_rand order(world_.seed * 31 + number * 7 + scheduler_.me());
  std::shuffle(all.begin(), all.end(), order);
  if (breaks("order")) {
    std::sort(all.begin(), all.end(),
              [](const auto* a, const auto* b) { return a->turn.number > b->turn.number; });
  }
  bool well = !all.empty();
  for (Persistent* const request : all) {
    if (!wait_for(*request)) well = false;
    scheduler_.spend(step.compute[scheduler_.me()] / 8);
  }
  if (well) check_counts({number, comm});
  if (step.root == 0) return;
  for (auto each = requests_.begin(); each != requests_.end();) {
    const bool own = each->second.turn.comm == comm;
    if (own) free_request(each->second);
    each = own ? requests_.erase(each) : std::next(each);
  }
}

void Rank::wait_for_rest() {
  const Step rest{
      .kind = Kind::wait, .comm = 0, .root = 1, .compute = std::vector<Time>(world_.ranks)};
  for (std::size_t i = 0; i < comms_.size(); ++i) {
    if (comms_[i] == MPI_COMM_NULL) continue;
    wait_for_all(rest, static_cast<int>(world_.steps.size() + i), comms_[i]);
  }
  for (auto& [id, request] : requests_) free_request(request);
  requests_.clear();
}

void Rank::drop_requests(MPI_Comm freed) {
  for (auto each = requests_.begin(); each != requests_.end();) {
    Persistent& request = each->second;
    if (request.turn.comm != freed) {
      ++each;
      continue;
    }
    if (request.started) {
      const int code = ours([&] { return calls_.c_api->wait(&request.handle); });
      expect(code, MPI_ERR_REQUEST, request.turn.number, "latecomer_wait on a freed communicator");
    }
    free_request(request);
    each = requests_.erase(each);
  }
}

}  // namespace latecomer::worlds
