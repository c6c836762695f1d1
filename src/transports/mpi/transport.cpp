#include "transports/mpi/transport.hpp"

#include <algorithm>
#include <cstring>

#include "transports/mpi/drain.hpp"
#include "transports/mpi/packing.hpp"

namespace latecomer {
namespace {

constexpr Count kCopiedBytes = 32768;   // of a message, behind its head
constexpr Count kLeavingBytes = 65536;  // to one peer at a time, or one message that is longer
constexpr std::size_t kTests = 32;      // of channels, in one poll

/// In front of a first message.
struct Head {
  std::uint64_t plan_hash;
  std::uint64_t piggybacked;  // bytes between the head and the elements
};

/// The elements that are copied at most.
int fitting(const Layout& layout) {
  return static_cast<int>(std::max<Count>(1, kCopiedBytes / layout.size));
}

bool is_truncation(int code) {
  if (code == MPI_SUCCESS) return false;
  int category = MPI_SUCCESS;
  PMPI_Error_class(code, &category);
  return category == MPI_ERR_TRUNCATE;
}

}  // namespace

MpiTransport::MpiTransport(MPI_Comm comm, Count piece_limit, std::size_t staged_bytes)
    : comm_(comm),
      piece_limit_(piece_limit),
      staged_bytes_(staged_bytes),
      tags_(comm),
      local_work_(comm, piece_limit),
      control_(comm) {
  int ranks = 0;
  PMPI_Comm_size(comm, &ranks);
  peers_.resize(static_cast<std::size_t>(ranks));
}

void MpiTransport::begin(Buffers buffers, MPI_Op op, const Call& call, Piggyback* piggyback) {
  buffers_.emplace(std::move(buffers));
  piggyback_ = piggyback;
  op_ = op;
  call_ = call;
  control_.begin(call.number);
  staging_.begin_call();
  // Room for the longest first message of any plan: Open MPI 4.1 writes a message that is longer
  // than its receive beyond the buffer, over shared memory.
  const Layout& layout = buffers_->layout();
  room_ = sizeof(Head) + max_piggybacked() + packed_bytes(layout, fitting(layout));
  max_staged_receives_ = std::max<std::size_t>(1, staged_bytes_ / room_);
  last_staged_ = 0;
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
  Slot& slot = take_slot(token, Direction::recv, message);
  if (may_receive(slot)) return post(slot);
  receiving_.push_back(&slot);
  std::push_heap(receiving_.begin(), receiving_.end(), later);
}

/// None waits for one that comes after it in the program: nobody waits in a circle.
bool MpiTransport::may_receive(const Slot& slot) const {
  return !is_staged(slot) || staged_receives_ < max_staged_receives_ || slot.token < last_staged_;
}

void MpiTransport::receive_next() {
  while (!receiving_.empty() && may_receive(*receiving_.front())) {
    std::pop_heap(receiving_.begin(), receiving_.end(), later);
    Slot& slot = *receiving_.back();
    receiving_.pop_back();
    post(slot);
  }
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
  slot.tells = message.tells;
  slot.paced = message.paced;
  slot.data = message.data;
  Peer& peer = peer_of(slot);
  std::uint32_t& messages = direction == Direction::send ? peer.sent : peer.received;
  messages = slot.first ? 0 : messages + 1;
  slot.number = messages;
  return slot;
}

void MpiTransport::post(Slot& slot) {
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
  slot.staged_count =
      static_cast<int>(std::min<Count>({fitting(layout), piece_limit_, slot.data.count}));
  if (slot.direction == Direction::recv) {
    reserve(slot, room_);
    ++staged_receives_;
    last_staged_ = std::max(last_staged_, slot.token);
    return;
  }
  piggybacked_.clear();
  if (slot.tells && piggyback_ != nullptr) piggyback_->pack(piggybacked_);
  const std::size_t piggybacked = piggybacked_.size();
  const Head head{slot.plan_hash, piggybacked};
  reserve(slot, sizeof head + piggybacked + packed_bytes(layout, slot.staged_count));
  std::memcpy(slot.staged.data(), &head, sizeof head);
  std::copy(piggybacked_.begin(), piggybacked_.end(), slot.staged.data() + sizeof head);
  slot.error = pack(*buffers_, {slot.data, 0, slot.staged_count},
                    slot.staged.data() + sizeof head + piggybacked, comm_);
}

void MpiTransport::reserve(Slot& slot, std::size_t bytes) {
  slot.staged = staging_.take(bytes);
  slot.staged_bytes = static_cast<int>(bytes);
}

/// `bytes` came. Of another plan the hash is all that can be read, and nothing it says is believed.
void MpiTransport::unstage(Slot& slot, int bytes) {
  Head head{};
  const auto received = static_cast<std::size_t>(bytes);
  std::memcpy(&head, slot.staged.data(), std::min(received, sizeof head));
  slot.hash = head.plan_hash;
  const std::size_t elements = packed_bytes(buffers_->layout(), slot.staged_count);
  slot.wrong_size =
      head.piggybacked > max_piggybacked() || received != sizeof head + head.piggybacked + elements;
  if (slot.wrong_size) return;
  if (piggyback_ != nullptr) piggyback_->unpack(slot.staged.data() + sizeof head, head.piggybacked);
  slot.error = unpack(*buffers_, slot.staged.data() + sizeof head + head.piggybacked,
                      {slot.data, 0, slot.staged_count}, comm_);
}

void MpiTransport::post_staged(Slot& slot) {
  const int bytes = slot.staged_bytes;
  const int tag =
      slot.first ? tags_.first(call_.number) : tags_.of(call_.number, call_.plan_hash, slot.number);
  const MPI_Request request = start(slot, slot.staged.data(), bytes, MPI_PACKED, tag);
  if (request != MPI_REQUEST_NULL) add_piece({request, &slot, MPI_PACKED, bytes, true});
}

void MpiTransport::post_rest(Slot& slot) {
  const int tag = tags_.of(call_.number, call_.plan_hash, slot.number);
  const MPI_Datatype type = buffers_->type(slot.data);
  for (Count done = slot.staged_count; done < slot.data.count; done += piece_limit_) {
    const int count = static_cast<int>(std::min(piece_limit_, slot.data.count - done));
    const MPI_Request request = start(slot, buffers_->address(slot.data, done), count, type, tag);
    if (request != MPI_REQUEST_NULL) add_piece({request, &slot, type, count});
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

void MpiTransport::add_piece(const Piece& piece) {
  if (free_pieces_ == nullptr) free_pieces_ = &pieces_.emplace_back();
  Piece& added = *std::exchange(free_pieces_, free_pieces_->next);
  added = piece;
  Channel& channel = channel_of(*piece.slot);
  if (channel.first == nullptr) open_.push_back(&channel);
  const auto comes_after = [&](const Piece* other) {
    return other != nullptr && other->slot->number <= piece.slot->number;
  };
  if (channel.first == nullptr || comes_after(channel.last)) {
    (channel.first == nullptr ? channel.first : channel.last->next) = &added;
    channel.last = &added;
    return;
  }
  // A staged receive that had to wait for room while later ones of its channel were posted.
  Piece** place = &channel.first;
  while (comes_after(*place)) place = &(*place)->next;
  added.next = std::exchange(*place, &added);
}

bool MpiTransport::poll(Protocol& protocol) {
  const bool worked = work() && deliver(protocol);
  const bool heard = protocol.listens() && hear(protocol);
  collect();
  leave_next();
  receive_next();
  return deliver(protocol) || worked || heard;
}

bool MpiTransport::hear(Protocol& protocol) {
  bool heard = false;
  while (protocol.status() == Status::running) {
    const auto message = control_.receive();
    if (!message) break;
    protocol.told(message->from, message->payload);
    heard = true;
  }
  // Control messages have no completion: their error is delivered as one of any operation.
  if (control_.error() != MPI_SUCCESS) finished_.push_back({0, control_.error(), 0});
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

/// Messages of a channel are done in their order, so that only the first needs a test; and polls
/// stay short however many channels there are.
void MpiTransport::collect() {
  if (open_.empty()) return;
  if (next_open_ >= open_.size()) next_open_ = 0;
  const std::size_t first = next_open_;
  const std::size_t tested = std::min(kTests, open_.size());
  const auto channel = [&](std::size_t i) -> Channel& {
    return *open_[(first + i) % open_.size()];
  };
  first_requests_.clear();
  for (std::size_t i = 0; i < tested; ++i) first_requests_.add(channel(i).first->request);
  const auto& ended = first_requests_.test();
  for (const auto& [index, code, status] : ended) {
    take_first(channel(index), status, code);
    collect_more(channel(index));
  }
  next_open_ += tested;
  if (!ended.empty()) {
    std::erase_if(open_, [](const Channel* each) { return each->first == nullptr; });
  }
}

/// Of a channel whose first one was done.
void MpiTransport::collect_more(Channel& channel) {
  while (channel.first != nullptr) {
    int done = 0;
    MPI_Status status;
    const int code = PMPI_Test(&channel.first->request, &done, &status);
    if (done == 0 && code == MPI_SUCCESS) return;
    take_first(channel, status, code);
  }
}

void MpiTransport::take_first(Channel& channel, const MPI_Status& status, int code) {
  Piece& piece = *channel.first;
  channel.first = piece.next;
  settle(piece, status, code);
  piece.next = std::exchange(free_pieces_, &piece);
}

void MpiTransport::settle(const Piece& piece, const MPI_Status& status, int code) {
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
  const bool wrong_size = slot.wrong_size || is_truncation(slot.error);
  if (wrong_size && slot.first) {
    finished_.push_back({slot.token, MPI_SUCCESS, 0});
  } else {
    finished_.push_back({slot.token, wrong_size ? MPI_ERR_TRUNCATE : slot.error, slot.hash});
  }
  if (slot.direction == Direction::send) {
    peer_of(slot).leaving -= bytes(slot);
    relieved_.push_back(slot.peer);
  } else if (is_staged(slot)) {
    --staged_receives_;
  }
  if (is_staged(slot)) staging_.give_back(std::move(slot.staged));
  free_.push_back(&slot);
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
  for (const Channel* const channel : open_) peers.push_back(channel->first->slot->peer);
  for (const Slot* const slot : receiving_) peers.push_back(slot->peer);
  std::sort(peers.begin(), peers.end());
  peers.erase(std::unique(peers.begin(), peers.end()), peers.end());
  return peers;
}

bool MpiTransport::abandon() {
  local_.reset();
  finished_.clear();
  receiving_.clear();
  std::vector<MPI_Request> receives, sends;
  for (Channel* const channel : open_) {
    for (const Piece* piece = channel->first; piece != nullptr; piece = piece->next) {
      const bool receive = piece->slot->direction == Direction::recv;
      (receive ? receives : sends).push_back(piece->request);
    }
  }
  open_.clear();
  const bool done = drain(receives, sends);
  if (!done) {
    for (Slot& slot : slots_) slot.staged.abandon();
  }
  forget_messages();
  return done;
}

/// As if there had never been any.
void MpiTransport::forget_messages() {
  std::fill(peers_.begin(), peers_.end(), Peer{});
  relieved_.clear();
  free_.clear();
  slots_.clear();
  free_pieces_ = nullptr;
  pieces_.clear();
  staged_receives_ = 0;
  staging_ = Staging{};
}

}  // namespace latecomer
