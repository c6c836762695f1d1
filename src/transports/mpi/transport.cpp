#include "transports/mpi/transport.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "transports/mpi/drain.hpp"
#include "transports/mpi/packing.hpp"

namespace latecomer {
namespace {

constexpr Count kCopiedBytes = 32768;   // of a message, behind its head
constexpr Count kLeavingBytes = 65536;  // to one peer at a time, or one message that is longer
// A long message may go in pieces. Over TCP, Open MPI sends when the receiver has acknowledged the
// message, and the acknowledgement waits behind all that the receiver is sending itself: of two
// ranks that send to each other the later one waits for the other's whole message. So few pieces
// are under way, and each is longer than TCP's eager limit: a message that nobody receives yet
// takes no memory.
constexpr Count kShortestPiece = 81920;  // bytes
constexpr Count kMostPieces = 32;
constexpr std::uint32_t kPiecesUnderWay = 2;
constexpr std::size_t kTests = 32;   // of channels, in one poll
constexpr unsigned kPatience = 256;  // polls without news of the node, until plans are compared

/// The head of a staged message.
struct Head {
  std::uint64_t plan_hash;
  std::uint64_t piggybacked;  // bytes between the head and the elements
};

/// The largest number of elements that are copied.
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

MpiTransport::MpiTransport(Link link, Count piece_limit, std::size_t staged_bytes)
    : link_(std::move(link)),
      piece_limit_(piece_limit),
      staged_bytes_(staged_bytes),
      tags_(link_),
      local_work_(link_.comm(), piece_limit),
      control_(link_),
      peers_(static_cast<std::size_t>(link_.ranks())) {}

void MpiTransport::begin(Buffers buffers, MPI_Op op, const Call& call, Piggyback* piggyback,
                         NodeMemory* node) {
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
  looks_ = 0;
  // The ranks must also find the elements at the same places.
  const auto spacing = static_cast<std::uint64_t>(node == nullptr ? 0 : buffers_->node_spacing());
  flags_.begin(node, call.plan_hash ^ spacing * 0x9e3779b97f4a7c15U, piggyback);
  held_back_ = flags_.used();
  begin_held();
}

void MpiTransport::end_call() {
  staging_.end_call();
  flags_.end();
}

// --- The memory of the node ---

/// Returns true if the operation begins later.
bool MpiTransport::hold(Held held) {
  if (!held_back_) return false;
  held_.push_back(std::move(held));
  return true;
}

/// Begins the operations that were held back, if all ranks of the node have left the call before.
/// None begins if a rank follows another plan: its data would be mixed with others'.
void MpiTransport::begin_held() {
  if (!held_back_ || !flags_.open()) return;
  if (const auto stranger = flags_.stranger()) {
    finished_.push_back({.stranger = *stranger});
    return;
  }
  held_back_ = false;
  for (const Held& held : held_) {
    switch (held.kind) {
      case OpKind::send:
        send(held.message, held.plan_hash, held.token);
        break;
      case OpKind::recv:
        recv(held.message, held.token);
        break;
      case OpKind::signal:
        signal(held.use, held.token);
        break;
      case OpKind::await:
        await(held.use, held.token);
        break;
      default:
        local_ = held.local;
    }
  }
  held_.clear();
}

void MpiTransport::signal(const FlagUse& use, Token token) {
  if (hold({.kind = OpKind::signal, .token = token, .use = use})) return;
  flags_.signal(use);
  finished_.push_back({.token = token});
}

void MpiTransport::await(const FlagUse& use, Token token) {
  if (!hold({.kind = OpKind::await, .token = token, .use = use})) flags_.await(use, token);
}

void MpiTransport::accumulate(const FlagUse& use, bool waits, Token token) {
  const Local task{OpKind::accumulate, use.source, use.target, Into::right, token, use, waits};
  if (!hold({.kind = OpKind::accumulate, .token = token, .local = task})) local_ = task;
}

bool MpiTransport::waits_for_mates() const {
  const bool accumulates = local_ && local_->kind == OpKind::accumulate;
  return flags_.used() && (held_back_ || flags_.awaits() || accumulates);
}

bool MpiTransport::awaits_flags_alone() const {
  return flags_.used() && !held_back_ && flags_.awaits() && !local_ && open_.empty() &&
         receiving_.empty();
}

void MpiTransport::sleep(Seconds at_most) {
  if (flags_.used() && !held_back_ && flags_.awaits()) return flags_.sleep(at_most);
  std::this_thread::sleep_for(std::chrono::duration<double>(at_most));
}

/// A rank that follows another plan may never signal.
void MpiTransport::look_for_stranger() {
  if (!waits_for_mates() || !finished_.empty()) {
    looks_ = 0;
  } else if (++looks_ % kPatience == 0) {
    if (const auto stranger = flags_.stranger()) finished_.push_back({.stranger = *stranger});
  }
}

std::vector<Rank> MpiTransport::missing_mates() const {
  return waits_for_mates() ? flags_.missing() : std::vector<Rank>{};
}

// --- Messages ---

void MpiTransport::send(const Message& message, std::uint64_t plan_hash, Token token) {
  if (hold({OpKind::send, token, message, plan_hash})) return;
  PendingMessage& pending = add_message(token, Direction::send, message);
  pending.plan_hash = plan_hash;
  PeerState& peer = peer_of(pending);
  if (peer.first_waiting == nullptr && may_leave(peer, pending)) return leave(pending);
  (peer.first_waiting == nullptr ? peer.first_waiting : peer.last_waiting->next) = &pending;
  peer.last_waiting = &pending;
}

bool MpiTransport::may_leave(const PeerState& peer, const PendingMessage& pending) const {
  return peer.leaving == 0 || peer.leaving + bytes(pending) <= kLeavingBytes;
}

void MpiTransport::leave(PendingMessage& pending) {
  peer_of(pending).leaving += bytes(pending);
  post(pending);
}

void MpiTransport::leave_next() {
  for (; !relieved_.empty(); relieved_.pop_back()) {
    PeerState& peer = peers_[static_cast<std::size_t>(relieved_.back())];
    while (peer.first_waiting != nullptr && may_leave(peer, *peer.first_waiting)) {
      leave(*std::exchange(peer.first_waiting, peer.first_waiting->next));
    }
  }
}

void MpiTransport::recv(const Message& message, Token token) {
  if (hold({.kind = OpKind::recv, .token = token, .message = message})) return;
  PendingMessage& pending = add_message(token, Direction::recv, message);
  if (may_receive(pending)) return post(pending);
  receiving_.push_back(&pending);
  std::push_heap(receiving_.begin(), receiving_.end(), later);
}

/// A receive never waits for a later one of the program, so there is no circular wait.
bool MpiTransport::may_receive(const PendingMessage& pending) const {
  return !is_staged(pending) || staged_receives_ < max_staged_receives_ ||
         pending.token < last_staged_;
}

void MpiTransport::receive_next() {
  while (!receiving_.empty() && may_receive(*receiving_.front())) {
    std::pop_heap(receiving_.begin(), receiving_.end(), later);
    PendingMessage& pending = *receiving_.back();
    receiving_.pop_back();
    post(pending);
  }
}

/// Runs at the next poll: messages that were posted with it leave first.
void MpiTransport::combine(const Slice& left, const Slice& right, Into into, Token token) {
  const Local task{OpKind::combine, left, right, into, token};
  if (!hold({.kind = OpKind::combine, .token = token, .local = task})) local_ = task;
}

void MpiTransport::copy(const Slice& from, const Slice& to, Token token) {
  const Local task{OpKind::copy, from, to, Into::right, token};
  if (!hold({.kind = OpKind::copy, .token = token, .local = task})) local_ = task;
}

MpiTransport::PendingMessage& MpiTransport::add_message(Token token, Direction direction,
                                                        const Message& message) {
  if (free_.empty()) free_.push_back(&messages_.emplace_back());
  PendingMessage& pending = *free_.back();
  free_.pop_back();
  pending = PendingMessage{};
  pending.token = token;
  pending.peer = message.peer;
  pending.direction = direction;
  pending.first = message.first;
  pending.piggybacks = message.piggybacks;
  pending.paced = message.paced;
  pending.data = message.data;
  PeerState& peer = peer_of(pending);
  std::uint32_t& messages = direction == Direction::send ? peer.sent : peer.received;
  messages = pending.first ? 0 : messages + 1;
  pending.number = messages;
  return pending;
}

void MpiTransport::post(PendingMessage& pending) {
  ++pending.open;  // until all pieces are posted: some may fail at once
  if (is_staged(pending)) {
    stage(pending);
    post_staged(pending);
  }
  pending.posted = pending.staged_count;
  post_pieces(pending);
  if (--pending.open == 0) finish(pending);
}

/// A short message is copied behind the head as a whole. Of a long one the beginning is: one more
/// message costs less than copying the rest. (A struct datatype would need no copy, but MPICH
/// 5.0's receives divide by zero where the hash and elements are different types of one size.)
void MpiTransport::stage(PendingMessage& pending) {
  const Layout& layout = buffers_->layout();
  pending.staged_count =
      static_cast<int>(std::min<Count>({fitting(layout), piece_limit_, pending.data.count}));
  if (pending.direction == Direction::recv) {
    reserve(pending, room_);
    ++staged_receives_;
    last_staged_ = std::max(last_staged_, pending.token);
    return;
  }
  piggybacked_.clear();
  if (pending.piggybacks && piggyback_ != nullptr) piggyback_->pack(piggybacked_);
  const std::size_t piggybacked = piggybacked_.size();
  const Head head{pending.plan_hash, piggybacked};
  reserve(pending, sizeof head + piggybacked + packed_bytes(layout, pending.staged_count));
  std::memcpy(pending.staged.data(), &head, sizeof head);
  std::copy(piggybacked_.begin(), piggybacked_.end(), pending.staged.data() + sizeof head);
  pending.error = pack(*buffers_, {pending.data, 0, pending.staged_count},
                       pending.staged.data() + sizeof head + piggybacked, link_.comm());
}

void MpiTransport::reserve(PendingMessage& pending, std::size_t bytes) {
  pending.staged = staging_.take(bytes);
  pending.staged_bytes = static_cast<int>(bytes);
}

/// `bytes` were received. In a message of another plan only the hash can be read; its other words
/// are not believed.
void MpiTransport::unstage(PendingMessage& pending, int bytes) {
  Head head{};
  const auto received = static_cast<std::size_t>(bytes);
  std::memcpy(&head, pending.staged.data(), std::min(received, sizeof head));
  pending.hash = head.plan_hash;
  const std::size_t elements = packed_bytes(buffers_->layout(), pending.staged_count);
  pending.wrong_size =
      head.piggybacked > max_piggybacked() || received != sizeof head + head.piggybacked + elements;
  if (pending.wrong_size) return;
  if (piggyback_ != nullptr)
    piggyback_->unpack(pending.staged.data() + sizeof head, head.piggybacked);
  pending.error = unpack(*buffers_, pending.staged.data() + sizeof head + head.piggybacked,
                         {pending.data, 0, pending.staged_count}, link_.comm());
}

void MpiTransport::post_staged(PendingMessage& pending) {
  const int bytes = pending.staged_bytes;
  const int tag = pending.first ? tags_.first(call_.number)
                                : tags_.of(call_.number, call_.plan_hash, pending.number);
  const MPI_Request request = start(pending, pending.staged.data(), bytes, MPI_PACKED, tag);
  if (request != MPI_REQUEST_NULL) add_piece({request, &pending, MPI_PACKED, bytes, true});
}

/// The elements of a piece, the same for sender and receiver.
Count MpiTransport::piece_of(const PendingMessage& pending) const {
  if (call_.nodes == nullptr) return piece_limit_;
  const Placement& nodes = *call_.nodes;
  const auto node = [&](Rank rank) { return nodes[static_cast<std::size_t>(rank)]; };
  if (!nodes.empty() && node(pending.peer) == node(link_.me())) return piece_limit_;
  const Count size = std::max<Count>(1, buffers_->layout().size);
  const Count shortest = (kShortestPiece + size - 1) / size;
  return std::min(piece_limit_, std::max(shortest, pending.data.count / kMostPieces));
}

/// Posts all pieces to receive, and as many to send as may be under way.
void MpiTransport::post_pieces(PendingMessage& pending) {
  const int tag = tags_.of(call_.number, call_.plan_hash, pending.number);
  const MPI_Datatype type = buffers_->type(pending.data);
  const Count piece = piece_of(pending);
  const bool sends = pending.direction == Direction::send;
  while (pending.posted < pending.data.count && (!sends || pending.open <= kPiecesUnderWay)) {
    const int count = static_cast<int>(std::min(piece, pending.data.count - pending.posted));
    const MPI_Request request =
        start(pending, buffers_->address(pending.data, pending.posted), count, type, tag);
    pending.posted += count;
    if (request != MPI_REQUEST_NULL) add_piece({request, &pending, type, count});
  }
}

/// Returns MPI_REQUEST_NULL after a failure, with the error in the message.
MPI_Request MpiTransport::start(PendingMessage& pending, void* address, int count,
                                MPI_Datatype type, int tag) {
  MPI_Request request = MPI_REQUEST_NULL;
  const bool sends = pending.direction == Direction::send;
  const auto send = pending.paced ? PMPI_Issend : PMPI_Isend;
  const int place = link_.place(pending.peer);
  const int code =
      sends ? send(address, count, type, place, link_.tag(tag), link_.comm(), &request)
            : PMPI_Irecv(address, count, type, place, link_.tag(tag), link_.comm(), &request);
  if (code == MPI_SUCCESS) {
    ++pending.open;
    return request;
  }
  pending.error = code;
  return MPI_REQUEST_NULL;
}

void MpiTransport::add_piece(const Piece& piece) {
  if (free_pieces_ == nullptr) free_pieces_ = &pieces_.emplace_back();
  Piece& added = *std::exchange(free_pieces_, free_pieces_->next);
  added = piece;
  Channel& channel = channel_of(*piece.pending);
  if (channel.first == nullptr) open_.push_back(&channel);
  const auto comes_after = [&](const Piece* other) {
    return other != nullptr && other->pending->number <= piece.pending->number;
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
  begin_held();
  const bool worked = work() && deliver(protocol);
  const bool heard = protocol.uses_control() && receive_control(protocol);
  collect();
  flags_.collect(finished_);
  look_for_stranger();
  leave_next();
  receive_next();
  return deliver(protocol) || worked || heard;
}

bool MpiTransport::receive_control(Protocol& protocol) {
  bool heard = false;
  while (protocol.status() == Status::running) {
    const auto message = control_.receive();
    if (!message) break;
    protocol.on_control(message->from, message->words);
    heard = true;
  }
  // Control messages have no completion: their error is delivered as one of any operation.
  if (control_.error() != MPI_SUCCESS) finished_.push_back({0, control_.error(), 0});
  return heard;
}

bool MpiTransport::work() {
  if (!local_) return false;
  const Local task = *local_;
  if (task.kind == OpKind::accumulate) {
    const auto ended = accumulate(task);
    if (!ended) return false;
    local_.reset();
    finished_.push_back(*ended);
    return true;
  }
  local_.reset();
  const int code = task.kind == OpKind::combine
                       ? local_work_.combine(*buffers_, op_, task.left, task.right, task.into)
                       : local_work_.copy(*buffers_, task.left, task.right);
  finished_.push_back({task.token, code, 0});
  return true;
}

/// Returns nothing if another rank has its turn, for which the operation waits.
std::optional<Completion> MpiTransport::accumulate(const Local& task) {
  const NodeMemory::Turn turn = flags_.take_turn(task.use);
  if (turn == NodeMemory::Turn::busy) {
    if (task.waits) return std::nullopt;
    return Completion{.token = task.token, .busy = true};
  }
  const int code = turn == NodeMemory::Turn::first
                       ? local_work_.copy(*buffers_, task.left, task.right)
                       : local_work_.combine(*buffers_, op_, task.left, task.right, Into::right);
  flags_.end_turn(task.use);
  return Completion{.token = task.token, .error = code};
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

/// Collects further messages of a channel whose first one was done.
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
  settle(piece, status, code);  // may post the next piece, behind this one
  channel.first = piece.next;
  piece.next = std::exchange(free_pieces_, &piece);
}

void MpiTransport::settle(const Piece& piece, const MPI_Status& status, int code) {
  PendingMessage& pending = *piece.pending;
  if (code != MPI_SUCCESS) {
    pending.error = code;
  } else if (pending.direction == Direction::recv) {
    int count = 0;
    PMPI_Get_count(&status, piece.type, &count);
    if (piece.staged) {
      unstage(pending, count);
    } else if (count != piece.count) {
      pending.wrong_size = true;
    }
  }
  if (pending.direction == Direction::send) post_pieces(pending);
  if (--pending.open == 0) finish(pending);
}

/// A first message of another size than expected belongs to another plan, whatever its hash.
void MpiTransport::finish(PendingMessage& pending) {
  const bool wrong_size = pending.wrong_size || is_truncation(pending.error);
  Completion completion{.token = pending.token, .peer = pending.peer};
  if (!wrong_size || !pending.first) {
    completion.error = wrong_size ? MPI_ERR_TRUNCATE : pending.error;
    completion.plan_hash = pending.hash;
  }
  finished_.push_back(completion);
  if (pending.direction == Direction::send) {
    peer_of(pending).leaving -= bytes(pending);
    relieved_.push_back(pending.peer);
  } else if (is_staged(pending)) {
    --staged_receives_;
  }
  if (is_staged(pending)) staging_.give_back(std::move(pending.staged));
  free_.push_back(&pending);
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
  for (const Channel* const channel : open_) peers.push_back(channel->first->pending->peer);
  for (const PendingMessage* const pending : receiving_) peers.push_back(pending->peer);
  const std::vector<Rank> mates = missing_mates();
  peers.insert(peers.end(), mates.begin(), mates.end());
  std::sort(peers.begin(), peers.end());
  peers.erase(std::unique(peers.begin(), peers.end()), peers.end());
  return peers;
}

bool MpiTransport::abandon() {
  local_.reset();
  finished_.clear();
  flags_.abandon();
  held_back_ = false;
  held_.clear();
  receiving_.clear();
  std::vector<MPI_Request> receives, sends;
  for (Channel* const channel : open_) {
    for (const Piece* piece = channel->first; piece != nullptr; piece = piece->next) {
      const bool receive = piece->pending->direction == Direction::recv;
      (receive ? receives : sends).push_back(piece->request);
    }
  }
  open_.clear();
  const bool done = drain(receives, sends);
  if (!done) {
    for (PendingMessage& pending : messages_) pending.staged.abandon();
  }
  forget_messages();
  return done;
}

/// Forgets all messages.
void MpiTransport::forget_messages() {
  std::fill(peers_.begin(), peers_.end(), PeerState{});
  relieved_.clear();
  free_.clear();
  messages_.clear();
  free_pieces_ = nullptr;
  pieces_.clear();
  staged_receives_ = 0;
  staging_ = Staging{};
}

}  // namespace latecomer
