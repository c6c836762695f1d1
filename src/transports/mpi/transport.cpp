#include "transports/mpi/transport.hpp"

#include <algorithm>

#include "transports/mpi/drain.hpp"

namespace latecomer {

MpiTransport::MpiTransport(MPI_Comm comm, Count piece_limit)
    : comm_(comm), piece_limit_(piece_limit), local_work_(comm, piece_limit) {
  int ranks = 0;
  PMPI_Comm_size(comm, &ranks);
  sent_.resize(static_cast<std::size_t>(ranks));
  received_.resize(static_cast<std::size_t>(ranks));
}

void MpiTransport::begin(Buffers buffers, MPI_Op op, std::uint64_t call) {
  buffers_.emplace(std::move(buffers));
  op_ = op;
  call_ = call;
  error_ = MPI_SUCCESS;
}

void MpiTransport::send(const Message& message, std::uint64_t plan_hash, Token token) {
  Slot& slot = take_slot(token, Direction::send, message);
  slot.hash = plan_hash;
  post(message, slot);
}

void MpiTransport::recv(const Message& message, Token token) {
  post(message, take_slot(token, Direction::recv, message));
}

/// Runs at the next poll: messages that were posted with it leave first.
void MpiTransport::combine(const Slice& left, const Slice& right, Into into, Token token) {
  local_ = {OpKind::combine, left, right, into, token};
}

void MpiTransport::copy(const Slice& from, const Slice& to, Token token) {
  local_ = {OpKind::copy, from, to, Into::right, token};
}

MpiTransport::Slot& MpiTransport::take_slot(Token token, Direction direction,
                                            const Message& message) {
  if (free_.empty()) free_.push_back(&slots_.emplace_back());
  Slot& slot = *free_.back();
  free_.pop_back();
  slot = Slot{};
  slot.token = token;
  slot.peer = message.peer;
  slot.direction = direction;
  slot.first = message.first;
  return slot;
}

int MpiTransport::tag(const Message& message, Direction direction) {
  auto& counts = direction == Direction::send ? sent_ : received_;
  std::uint32_t& n = counts[static_cast<std::size_t>(message.peer)];
  n = message.first ? 0 : n + 1;
  return tags_.of(call_, n);
}

void MpiTransport::post(const Message& message, Slot& slot) {
  const int number = tag(message, slot.direction);
  const Count pieces = (message.data.count + piece_limit_ - 1) / piece_limit_;
  slot.open = static_cast<std::uint32_t>(pieces);
  for (Count i = 0; i < pieces; ++i) post_piece(message, slot, i * piece_limit_, number);
}

void MpiTransport::post_piece(const Message& message, Slot& slot, Count done, int tag) {
  int count = static_cast<int>(std::min(piece_limit_, message.data.count - done));
  void* address = buffers_->address(message.data, done);
  MPI_Datatype type = buffers_->type(message.data);
  if (slot.first && done == 0) {
    slot.hashed = Datatype::hashed(&slot.hash, address, count, type);
    address = MPI_BOTTOM;
    count = 1;
    type = slot.hashed.get();
  }
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = slot.direction == Direction::send
                       ? PMPI_Isend(address, count, type, message.peer, tag, comm_, &request)
                       : PMPI_Irecv(address, count, type, message.peer, tag, comm_, &request);
  if (code == MPI_SUCCESS) {
    add_request(request, {&slot, type, count});
  } else {
    slot.error = code;
    if (--slot.open == 0) finish(slot);
  }
}

void MpiTransport::add_request(MPI_Request request, const Piece& piece) {
  requests_.push_back(request);
  pieces_.push_back(piece);
  if (indices_.size() >= requests_.size()) return;
  indices_.resize(2 * requests_.size());
  statuses_.resize(2 * requests_.size());
}

bool MpiTransport::poll(Protocol& protocol) {
  const bool worked = work() && deliver(protocol);
  collect();
  return deliver(protocol) || worked;
}

bool MpiTransport::work() {
  if (!local_) return false;
  const Local task = *local_;
  local_.reset();
  const int code = task.kind == OpKind::combine
                       ? local_work_.combine(*buffers_, op_, task.left, task.right, task.into)
                       : local_work_.copy(*buffers_, task.left, task.right);
  finished_.push_back({task.token, code, 0});
  return true;
}

void MpiTransport::collect() {
  if (requests_.empty()) return;
  int done = 0;
  const int code = PMPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &done,
                                 indices_.data(), statuses_.data());
  const bool in_status = code == MPI_ERR_IN_STATUS;
  if (code != MPI_SUCCESS && !in_status) {
    // Nothing can be said of single requests: the first one stands for all.
    finished_.push_back({pieces_.front().slot->token, code, 0});
    return;
  }
  if (done == MPI_UNDEFINED || done == 0) return;
  for (int i = 0; i < done; ++i) {
    settle(pieces_[static_cast<std::size_t>(indices_[i])], statuses_[i],
           in_status ? statuses_[i].MPI_ERROR : MPI_SUCCESS);
  }
  compact();
}

void MpiTransport::settle(const Piece& piece, MPI_Status& status, int code) {
  Slot& slot = *piece.slot;
  if (code != MPI_SUCCESS) {
    slot.error = code;
  } else if (slot.direction == Direction::recv) {
    int count = 0;
    PMPI_Get_count(&status, piece.type, &count);
    if (count != piece.count) slot.wrong_size = true;
  }
  if (--slot.open == 0) finish(slot);
}

/// A first message of another size than expected belongs to another plan, whatever its hash.
void MpiTransport::finish(Slot& slot) {
  int category = MPI_SUCCESS;
  PMPI_Error_class(slot.error, &category);
  const bool wrong_size = slot.wrong_size || category == MPI_ERR_TRUNCATE;
  if (wrong_size && slot.first) {
    finished_.push_back({slot.token, MPI_SUCCESS, 0});
  } else {
    finished_.push_back({slot.token, wrong_size ? MPI_ERR_TRUNCATE : slot.error, slot.hash});
  }
  slot.hashed.reset();
  free_.push_back(&slot);
}

/// Forgets the requests that MPI_Testsome set to MPI_REQUEST_NULL; the others keep their order.
void MpiTransport::compact() {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    if (requests_[i] == MPI_REQUEST_NULL) continue;
    requests_[kept] = requests_[i];
    pieces_[kept++] = pieces_[i];
  }
  requests_.resize(kept);
  pieces_.resize(kept);
}

bool MpiTransport::deliver(Protocol& protocol) {
  if (finished_.empty()) return false;
  delivering_.swap(finished_);  // completions may post, and posting may fail at once
  for (const Completion& completion : delivering_) {
    protocol.completed(completion);
    if (protocol.status() != Status::failed) continue;
    error_ = completion.error;
    break;
  }
  delivering_.clear();
  return true;
}

std::vector<Rank> MpiTransport::awaited() const {
  std::vector<Rank> peers;
  for (const Piece& piece : pieces_) peers.push_back(piece.slot->peer);
  std::sort(peers.begin(), peers.end());
  peers.erase(std::unique(peers.begin(), peers.end()), peers.end());
  return peers;
}

void MpiTransport::abandon() {
  local_.reset();
  finished_.clear();
  if (requests_.empty()) return;
  std::vector<MPI_Request> receives, sends;
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    const bool receive = pieces_[i].slot->direction == Direction::recv;
    (receive ? receives : sends).push_back(requests_[i]);
  }
  drain(receives, sends);
  requests_.clear();
  pieces_.clear();
}

}  // namespace latecomer
