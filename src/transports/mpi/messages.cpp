#include "transports/mpi/messages.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

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

CallMessages::CallMessages(const Link& link, Count piece_limit, std::size_t staged_bytes,
                           std::vector<Completion>& finished)
    : link_(link),
      piece_limit_(piece_limit),
      staged_bytes_(staged_bytes),
      tags_(link),
      finished_(finished),
      channels_(link.ranks()),
      peers_(static_cast<std::size_t>(link.ranks())) {}

void CallMessages::begin(const Buffers& buffers, const MpiCall& call, Piggyback* piggyback) {
  buffers_ = &buffers;
  piggyback_ = piggyback;
  call_ = call;
  staging_.begin_call();
  // Room for the longest first message of any plan: Open MPI 4.1 writes a message that is longer
  // than its receive beyond the buffer, over shared memory.
  const Layout& layout = buffers_->layout();
  room_ = sizeof(Head) + max_piggybacked() + packed_bytes(layout, fitting(layout));
  max_staged_receives_ = std::max<std::size_t>(1, staged_bytes_ / room_);
  last_staged_ = 0;
}

void CallMessages::post(const Operation& message, Token token, PostOptions options) {
  PendingMessage& pending = add(message, token, options);
  pending.direction == Direction::send ? send(pending) : receive(pending);
}

PendingMessage& CallMessages::add(const Operation& message, Token token, PostOptions options) {
  if (free_.empty()) free_.push_back(&messages_.emplace_back());
  PendingMessage& pending = *free_.back();
  free_.pop_back();
  pending = PendingMessage{};
  pending.token = token;
  pending.peer = message.peer;
  pending.direction = message.kind == OpKind::send ? Direction::send : Direction::recv;
  pending.options = options;
  pending.data = message.data();
  PeerState& peer = peer_of(pending);
  std::uint32_t& messages = pending.direction == Direction::send ? peer.sent : peer.received;
  messages = options.first ? 0 : messages + 1;
  pending.number = messages;
  return pending;
}

// --- The order in which messages leave, and receives are posted ---

void CallMessages::begin_next() {
  leave_next();
  receive_next();
}

void CallMessages::send(PendingMessage& pending) {
  PeerState& peer = peer_of(pending);
  if (peer.first_waiting == nullptr && may_leave(peer, pending)) return leave(pending);
  (peer.first_waiting == nullptr ? peer.first_waiting : peer.last_waiting->next) = &pending;
  peer.last_waiting = &pending;
}

bool CallMessages::may_leave(const PeerState& peer, const PendingMessage& pending) const {
  return peer.leaving == 0 || peer.leaving + bytes(pending) <= kLeavingBytes;
}

void CallMessages::leave(PendingMessage& pending) {
  peer_of(pending).leaving += bytes(pending);
  start(pending);
}

void CallMessages::leave_next() {
  for (; !relieved_.empty(); relieved_.pop_back()) {
    PeerState& peer = peers_[static_cast<std::size_t>(relieved_.back())];
    while (peer.first_waiting != nullptr && may_leave(peer, *peer.first_waiting)) {
      leave(*std::exchange(peer.first_waiting, peer.first_waiting->next));
    }
  }
}

void CallMessages::receive(PendingMessage& pending) {
  if (may_receive(pending)) return start(pending);
  receiving_.push_back(&pending);
  std::push_heap(receiving_.begin(), receiving_.end(), later);
}

/// A receive never waits for a later one of the program, so there is no circular wait.
bool CallMessages::may_receive(const PendingMessage& pending) const {
  return !is_staged(pending) || staged_receives_ < max_staged_receives_ ||
         pending.token < last_staged_;
}

void CallMessages::receive_next() {
  while (!receiving_.empty() && may_receive(*receiving_.front())) {
    std::pop_heap(receiving_.begin(), receiving_.end(), later);
    PendingMessage& pending = *receiving_.back();
    receiving_.pop_back();
    start(pending);
  }
}

void CallMessages::start(PendingMessage& pending) {
  ++pending.open;  // until all pieces are posted: some may fail at once
  if (is_staged(pending)) {
    stage(pending);
    if (pending.error == MPI_SUCCESS) post_staged(pending);
  }
  pending.posted = pending.staged_count;
  if (pending.error == MPI_SUCCESS) post_pieces(pending);  // else the others must not have garbage
  if (--pending.open == 0) finish(pending);
}

// --- First and piggybacking messages: a head, piggyback data, and elements ---

/// A short message is copied behind the head as a whole. Of a long one the beginning is: one more
/// message costs less than copying the rest. (A struct datatype would need no copy, but MPICH
/// 5.0's receives divide by zero where the hash and elements are different types of one size.)
void CallMessages::stage(PendingMessage& pending) {
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
  if (pending.options.piggybacks && piggyback_ != nullptr) piggyback_->pack(piggybacked_);
  const std::size_t piggybacked = piggybacked_.size();
  const Head head{call_.plan_hash, piggybacked};
  reserve(pending, sizeof head + piggybacked + packed_bytes(layout, pending.staged_count));
  std::memcpy(pending.staged.data(), &head, sizeof head);
  std::copy(piggybacked_.begin(), piggybacked_.end(), pending.staged.data() + sizeof head);
  pending.error = pack(*buffers_, {pending.data, 0, pending.staged_count},
                       pending.staged.data() + sizeof head + piggybacked, link_.comm());
}

void CallMessages::reserve(PendingMessage& pending, std::size_t bytes) {
  pending.staged = staging_.take(bytes);
  pending.staged_bytes = static_cast<int>(bytes);
}

/// `bytes` were received. In a message of another plan only the hash can be read; its other words
/// are not believed.
void CallMessages::unstage(PendingMessage& pending, int bytes) {
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

void CallMessages::post_staged(PendingMessage& pending) {
  const int bytes = pending.staged_bytes;
  const int tag = pending.options.first ? tags_.first(call_.number)
                                        : tags_.of(call_.number, call_.plan_hash, pending.number);
  const MPI_Request request = issue(pending, pending.staged.data(), bytes, MPI_PACKED, tag);
  if (request != MPI_REQUEST_NULL) channels_.add({request, &pending, MPI_PACKED, bytes, true});
}

// --- Pieces ---

/// The elements of a piece, the same for sender and receiver.
Count CallMessages::piece_of(const PendingMessage& pending) const {
  if (call_.nodes == nullptr) return piece_limit_;
  const Placement& nodes = *call_.nodes;
  const auto node = [&](Rank rank) { return nodes[static_cast<std::size_t>(rank)]; };
  if (!nodes.empty() && node(pending.peer) == node(link_.me())) return piece_limit_;
  const Count size = std::max<Count>(1, buffers_->layout().size);
  const Count shortest = (kShortestPiece + size - 1) / size;
  return std::min(piece_limit_, std::max(shortest, pending.data.count / kMostPieces));
}

/// Posts all pieces to receive, and as many to send as may be under way.
void CallMessages::post_pieces(PendingMessage& pending) {
  const int tag = tags_.of(call_.number, call_.plan_hash, pending.number);
  const MPI_Datatype type = buffers_->type(pending.data);
  const Count piece = piece_of(pending);
  const bool sends = pending.direction == Direction::send;
  while (pending.posted < pending.data.count && (!sends || pending.open <= kPiecesUnderWay)) {
    const int count = static_cast<int>(std::min(piece, pending.data.count - pending.posted));
    const MPI_Request request =
        issue(pending, buffers_->address(pending.data, pending.posted), count, type, tag);
    pending.posted += count;
    if (request != MPI_REQUEST_NULL) channels_.add({request, &pending, type, count});
  }
}

/// Returns MPI_REQUEST_NULL after a failure, with the error in the message.
MPI_Request CallMessages::issue(PendingMessage& pending, void* address, int count,
                                MPI_Datatype type, int tag) {
  MPI_Request request = MPI_REQUEST_NULL;
  const bool sends = pending.direction == Direction::send;
  const auto send = pending.options.paced ? PMPI_Issend : PMPI_Isend;
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

void CallMessages::collect() {
  channels_.collect([this](const Channels::Piece& piece, const MPI_Status& status, int code) {
    settle(piece, status, code);
  });
}

void CallMessages::settle(const Channels::Piece& piece, const MPI_Status& status, int code) {
  PendingMessage& pending = *piece.pending;
  if (code != MPI_SUCCESS) {
    pending.error = code;
  } else if (pending.direction == Direction::recv) {
    int count = 0;
    PMPI_Get_count(&status, piece.type, &count);
    if (piece.staged) {
      unstage(pending, count);
      // Further pieces of another plan have other tags: they never come.
      const bool others = pending.options.first && pending.hash != call_.plan_hash;
      if (others && pending.open > 1) {
        finished_.push_back({.token = pending.token, .plan_hash = pending.hash});
      }
    } else if (count != piece.count) {
      pending.wrong_size = true;
    }
  }
  if (pending.direction == Direction::send) post_pieces(pending);
  if (--pending.open == 0) finish(pending);
}

/// A first message of another size than expected belongs to another plan, whatever its hash.
void CallMessages::finish(PendingMessage& pending) {
  const bool wrong_size = pending.wrong_size || is_truncation(pending.error);
  Completion completion{.token = pending.token, .peer = pending.peer};
  if (!wrong_size || !pending.options.first) {
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

// --- The end of a call ---

std::vector<Rank> CallMessages::peers() const {
  std::vector<Rank> peers = channels_.peers();
  for (const PendingMessage* const pending : receiving_) peers.push_back(pending->peer);
  return peers;
}

bool CallMessages::abandon() {
  receiving_.clear();
  const bool done = channels_.abandon();
  if (!done) {
    for (PendingMessage& pending : messages_) pending.staged.abandon();
  }
  std::fill(peers_.begin(), peers_.end(), PeerState{});
  relieved_.clear();
  free_.clear();
  messages_.clear();
  staged_receives_ = 0;
  staging_ = Staging{};
  return done;
}

}  // namespace latecomer
