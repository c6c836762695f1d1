// Messages between two ranks.
#include <algorithm>
#include <cstring>

#include "worlds/mpi_state.hpp"

namespace latecomer::worlds {
namespace {

constexpr Time kCall = 100;  // ns that a function takes

/// The call of an MPI function.
struct Entered : Within {
  explicit Entered(const char* name) : Within(name, kCall) {}
};

int send(const char* name, const void* buffer, int count, MPI_Datatype type, int to, int tag,
         MPI_Comm handle, bool synchronous, MPI_Request* request) {
  const Entered state(name);
  Comm* const comm = state->find(handle);
  if (comm == nullptr) return MPI_ERR_COMM;
  if (to < 0 || to >= static_cast<int>(comm->members.size())) return MPI_ERR_RANK;
  auto made = std::make_unique<Request>();
  Message message;
  message.source = state->me_in(*comm);
  message.tag = tag;
  message.size = static_cast<std::size_t>(count * state->size_of(type));
  const auto* const from = static_cast<const char*>(buffer);
  const bool brief = message.size <= state->net.eager;
  if (brief) {
    message.data.assign(from, from + message.size);
  } else {
    message.from = from;
  }
  if (synchronous || !brief) {
    message.send = made.get();
  } else {
    made->done = state->scheduler.now();
  }
  *request = state->add(std::move(made));
  state->send(*comm, std::move(message), to, state->scheduler.now());
  return MPI_SUCCESS;
}

int complete(MpiState& state, MPI_Request* request, MPI_Status* status) {
  Request& done = *state.request(*request);
  const int error = done.error;
  if (status != MPI_STATUS_IGNORE) *status = done.status;
  state.release(*request);
  *request = MPI_REQUEST_NULL;
  state.scheduler.busy();
  return error;
}

int wait(MpiState& state, MPI_Request* request, MPI_Status* status) {
  state.wait(*state.request(*request));
  return complete(state, request, status);
}

}  // namespace
}  // namespace latecomer::worlds

using namespace latecomer::worlds;  // NOLINT: the functions below belong to no namespace

extern "C" {

int PMPI_Isend(const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
               MPI_Request* request) {
  return send("MPI_Isend", buffer, count, type, to, tag, comm, false, request);
}
int PMPI_Issend(const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                MPI_Request* request) {
  return send("MPI_Issend", buffer, count, type, to, tag, comm, true, request);
}
int PMPI_Irecv(void* buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm handle,
               MPI_Request* request) {
  const Entered state("MPI_Irecv");
  Comm* const comm = state->find(handle);
  if (comm == nullptr) return MPI_ERR_COMM;
  auto made = std::make_unique<Request>();
  Request& receive = *made;
  receive.receive = true;
  receive.context = comm->handle;
  receive.source = from;
  receive.tag = tag;
  receive.buffer = static_cast<char*>(buffer);
  receive.size = static_cast<std::size_t>(count * state->size_of(type));
  *request = state->add(std::move(made));
  auto& arrived = state->mine().arrived[comm->handle];
  for (auto each = arrived.begin(); each != arrived.end(); ++each) {
    if (!fits(*each, from, tag)) continue;
    Message message = std::move(*each);
    arrived.erase(each);
    state->match(state->scheduler.me(), receive, message);
    return MPI_SUCCESS;
  }
  state->mine().posted[comm->handle].push_back(&receive);
  return MPI_SUCCESS;
}
int PMPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
  const Entered state("MPI_Test");
  *flag = 1;
  if (*request == MPI_REQUEST_NULL) return MPI_SUCCESS;
  *flag = state->request(*request)->done <= state->scheduler.now() ? 1 : 0;
  state->mine().polls = *flag == 0;
  return *flag != 0 ? complete(*state, request, status) : MPI_SUCCESS;
}
int PMPI_Wait(MPI_Request* request, MPI_Status* status) {
  const Entered state("MPI_Wait");
  return *request == MPI_REQUEST_NULL ? MPI_SUCCESS : wait(*state, request, status);
}
int PMPI_Cancel(MPI_Request* request) {
  const Entered state("MPI_Cancel");
  Request* const found = state->request(*request);
  auto& posted = state->mine().posted[found->context];
  const auto place = std::find(posted.begin(), posted.end(), found);
  if (!found->receive || place == posted.end()) return MPI_SUCCESS;
  posted.erase(place);
  found->status.count_hi_and_cancelled = 1;
  found->done = state->scheduler.now();
  return MPI_SUCCESS;
}
int PMPI_Test_cancelled(const MPI_Status* status, int* flag) {
  *flag = status->count_hi_and_cancelled;
  return MPI_SUCCESS;
}
int PMPI_Request_free(MPI_Request* request) {
  const Entered state("MPI_Request_free");
  if (state->request(*request)->done <= state->scheduler.now()) {
    state->release(*request);
  }  // an unfinished one stays until the world ends
  *request = MPI_REQUEST_NULL;
  return MPI_SUCCESS;
}
int PMPI_Iprobe(int from, int tag, MPI_Comm handle, int* flag, MPI_Status* status) {
  const Entered state("MPI_Iprobe");
  *flag = 0;
  Comm* const comm = state->find(handle);
  if (comm == nullptr) return MPI_ERR_COMM;
  for (const auto& message : state->mine().arrived[comm->handle]) {
    if (!fits(message, from, tag)) continue;
    *flag = 1;
    if (status != MPI_STATUS_IGNORE) {
      *status = {};
      status->count_lo = static_cast<int>(message.size);
      status->MPI_SOURCE = message.source;
      status->MPI_TAG = message.tag;
    }
    break;
  }
  state->mine().polls = *flag == 0;
  return MPI_SUCCESS;
}
int PMPI_Get_count(const MPI_Status* status, MPI_Datatype type, int* count) {
  const auto size = Within()->size_of(type);
  *count = size == 0 ? 0 : static_cast<int>(status->count_lo / size);
  return MPI_SUCCESS;
}
int PMPI_Send(const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = PMPI_Isend(buffer, count, type, to, tag, comm, &request);
  return code != MPI_SUCCESS ? code : wait(*Within(), &request, MPI_STATUS_IGNORE);
}
int PMPI_Recv(void* buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Status* status) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = PMPI_Irecv(buffer, count, type, from, tag, comm, &request);
  return code != MPI_SUCCESS ? code : wait(*Within(), &request, status);
}
int PMPI_Sendrecv(const void* sent, int send_count, MPI_Datatype send_type, int to, int send_tag,
                  void* received, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                  MPI_Status* status) {
  MPI_Request receive = MPI_REQUEST_NULL;
  MPI_Request send = MPI_REQUEST_NULL;
  int code = PMPI_Irecv(received, count, type, from, tag, comm, &receive);
  if (code == MPI_SUCCESS)
    code = PMPI_Isend(sent, send_count, send_type, to, send_tag, comm, &send);
  if (code != MPI_SUCCESS) return code;
  const Within state;
  code = wait(*state, &receive, status);
  const int other = wait(*state, &send, MPI_STATUS_IGNORE);
  return code != MPI_SUCCESS ? code : other;
}

int PMPI_Pack(const void* in, int count, MPI_Datatype type, void* out, int, int* position,
              MPI_Comm) {
  const auto size = static_cast<std::size_t>(count * Within()->size_of(type));
  std::memcpy(static_cast<char*>(out) + *position, in, size);
  *position += static_cast<int>(size);
  return MPI_SUCCESS;
}
int PMPI_Unpack(const void* in, int, int* position, void* out, int count, MPI_Datatype type,
                MPI_Comm) {
  const auto size = static_cast<std::size_t>(count * Within()->size_of(type));
  std::memcpy(out, static_cast<const char*>(in) + *position, size);
  *position += static_cast<int>(size);
  return MPI_SUCCESS;
}

}  // extern "C"
