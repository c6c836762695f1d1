#include "transports/mpi/transport.hpp"

#include <algorithm>
#include <cstring>

#include "transports/mpi/drain.hpp"
#include "transports/mpi/packing.hpp"

namespace latecomer {
namespace {

constexpr Count kStagedBytes = 32768;
constexpr Count kLeavingBytes = 65536;  // to one peer at a time, or one message that is longer

/// In front of a first message.
struct Head {
  std::uint64_t plan_hash;
  std::uint64_t words;  // bytes that go along
};

}  // namespace

MpiTransport::MpiTransport(MPI_Comm comm, Count piece_limit)
    : comm_(comm), piece_limit_(piece_limit), local_work_(comm, piece_limit), words_(comm) {
  int ranks = 0;
  PMPI_Comm_size(comm, &ranks);
  peers_.resize(static_cast<std::size_t>(ranks));
}

void MpiTransport::begin(Buffers buffers, MPI_Op op, const Call& call, Courier* courier) {
  buffers_.emplace(std::move(buffers));
  courier_ = courier;
  op_ = op;
  call_ = call;
  words_.begin(call.number);
  error_ = MPI_SUCCESS;
}

void MpiTransport::send(const Message& message, std::uint64_t plan_hash, Token token) {
  Slot& slot = take_slot(token, Direction::send, message);
  slot.plan_hash = plan_hash;
  Peer& peer = peer_of(slot);
  if (peer.first_waiting == nullptr && may_leave(peer, slot)) return leave(slot);
  (peer.first_waiting == nullptr ? peer.first_waiting : peer.last_waiting->next) = &slot;
  peer.last_waiting = &slot;
}

bool MpiTransport::may_leave(const Peer& peer, const Slot& slot) const {
  return peer.leaving == 0 || peer.leaving + bytes(slot) <= kLeavingBytes;
}

void MpiTransport::leave(Slot& slot) {
  peer_of(slot).leaving += bytes(slot);
  post(slot);
}

void MpiTransport::leave_next() {
  for (; !relieved_.empty(); relieved_.pop_back()) {
    Peer& peer = peers_[static_cast<std::size_t>(relieved_.back())];
    while (peer.first_waiting != nullptr && may_leave(peer, *peer.first_waiting)) {
      leave(*std::exchange(peer.first_waiting, peer.first_waiting->next));
    }
  }
}

void MpiTransport::recv(const Message& message, Token token) {
  post(take_slot(token, Direction::recv, message));
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
  std::vector<char> memory = std::move(slot.staged);  // worth keeping
  slot = Slot{};
  slot.staged = std::move(memory);
  slot.token = token;
  slot.peer = message.peer;
  slot.direction = direction;
  slot.first = message.first;
  slot.tells = message.tells;
  slot.paced = message.paced;
  slot.data = message.data;
  return slot;
}

void MpiTransport::post(Slot& slot) {
  Peer& peer = peer_of(slot);
  std::uint32_t& messages = slot.direction == Direction::send ? peer.sent : peer.received;
  messages = slot.first ? 0 : messages + 1;
  slot.number = messages;
  ++slot.open;  // until all pieces are posted: some may fail at once
  if (is_staged(slot)) {
    stage(slot);
    post_staged(slot);
  }
  post_rest(slot);
  if (--slot.open == 0) finish(slot);
}

/// A short message is copied behind the head as a whole. Of a long one the beginning is: one more
/// message costs less than copying the rest. (A struct datatype would need no copy, but MPICH
/// 5.0's receives divide by zero where the hash and elements are different types of one size.)
void MpiTransport::stage(Slot& slot) {
  const Layout& layout = buffers_->layout();
  const Count fitting = std::max<Count>(1, kStagedBytes / layout.size);
  slot.staged_count = static_cast<int>(std::min({fitting, piece_limit_, slot.data.count}));
  if (slot.direction == Direction::recv) {
    // Room for the longest first message of any plan: Open MPI 4.1 writes a message that is longer
    // than its receive beyond the buffer, over shared memory.
    slot.staged.resize(sizeof(Head) + Courier::kMostBytesPerRank * peers_.size() +
                       packed_bytes(layout, static_cast<int>(fitting)));
    return;
  }
  const bool tells = slot.tells && courier_ != nullptr;
  const std::vector<char> words = tells ? courier_->pack() : std::vector<char>{};
  const Head head{slot.plan_hash, words.size()};
  slot.staged.resize(sizeof head + words.size() + packed_bytes(layout, slot.staged_count));
  std::memcpy(slot.staged.data(), &head, sizeof head);
  std::copy(words.begin(), words.end(), slot.staged.begin() + sizeof head);
  slot.error = pack(*buffers_, {slot.data, 0, slot.staged_count},
                    slot.staged.data() + sizeof head + words.size(), comm_);
}

/// `bytes` came. Of another plan the hash is all that can be read.
void MpiTransport::unstage(Slot& slot, int bytes) {
  Head head{};
  const auto received = static_cast<std::size_t>(bytes);
  std::memcpy(&head, slot.staged.data(), std::min(received, sizeof head));
  slot.hash = head.plan_hash;
  const std::size_t elements = packed_bytes(buffers_->layout(), slot.staged_count);
  slot.wrong_size = received != sizeof head + head.words + elements;
  if (slot.wrong_size) return;
  if (courier_ != nullptr) courier_->unpack(slot.staged.data() + sizeof head, head.words);
  slot.error = unpack(*buffers_, slot.staged.data() + sizeof head + head.words,
                      {slot.data, 0, slot.staged_count}, comm_);
}

void MpiTransport::post_staged(Slot& slot) {
  const auto bytes = static_cast<int>(slot.staged.size());
  const int tag =
      slot.first ? tags_.first(call_.number) : tags_.of(call_.number, call_.plan_hash, slot.number);
  const MPI_Request request = start(slot, slot.staged.data(), bytes, MPI_PACKED, tag);
  if (request != MPI_REQUEST_NULL) add_request(request, {&slot, MPI_PACKED, bytes, true});
}

void MpiTransport::post_rest(Slot& slot) {
  const int tag = tags_.of(call_.number, call_.plan_hash, slot.number);
  const MPI_Datatype type = buffers_->type(slot.data);
  for (Count done = slot.staged_count; done < slot.data.count; done += piece_limit_) {
    const int count = static_cast<int>(std::min(piece_limit_, slot.data.count - done));
    const MPI_Request request = start(slot, buffers_->address(slot.data, done), count, type, tag);
    if (request != MPI_REQUEST_NULL) add_request(request, {&slot, type, count});
  }
}

/// MPI_REQUEST_NULL: it failed, and the slot has the error.
MPI_Request MpiTransport::start(Slot& slot, void* address, int count, MPI_Datatype type, int tag) {
  MPI_Request request = MPI_REQUEST_NULL;
  const bool sends = slot.direction == Direction::send;
  const auto send = slot.paced ? PMPI_Issend : PMPI_Isend;
  const int code = sends ? send(address, count, type, slot.peer, tag, comm_, &request)
                         : PMPI_Irecv(address, count, type, slot.peer, tag, comm_, &request);
  if (code == MPI_SUCCESS) {
    ++slot.open;
    return request;
  }
  slot.error = code;
  return MPI_REQUEST_NULL;
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
  const bool heard = protocol.listens() && hear(protocol);
  collect();
  leave_next();
  return deliver(protocol) || worked || heard;
}

bool MpiTransport::hear(Protocol& protocol) {
  bool heard = false;
  while (protocol.status() == Status::running) {
    const auto word = words_.next();
    if (!word) break;
    protocol.told(word->from, word->word);
    heard = true;
  }
  // Words have no completion; a protocol fails with any that has an error.
  if (words_.error() != MPI_SUCCESS) finished_.push_back({0, words_.error(), 0});
  return heard;
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
    if (piece.staged) {
      unstage(slot, count);
    } else if (count != piece.count) {
      slot.wrong_size = true;
    }
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
  if (slot.direction == Direction::send) {
    peer_of(slot).leaving -= bytes(slot);
    relieved_.push_back(slot.peer);
  }
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
