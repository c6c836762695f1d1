// The pieces of messages under way, in channels: one for each peer and direction. Messages of a
// channel are done in their order, so that only its first piece needs a test.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <utility>
#include <vector>

#include "protocol/transport.hpp"
#include "transports/mpi/memory.hpp"
#include "transports/mpi/mpi.hpp"

namespace latecomer {

// Tests requests so that errors go to their communicator. Which MPI function does that depends on
// the library.

/// The requests of one poll. Its memory is kept from poll to poll.
class OpenRequests {
 public:
  struct Ended {
    std::size_t index;  // in the order in which requests were added
    int code;
    MPI_Status status;
  };

  void clear() { requests_.clear(); }
  void add(MPI_Request request) { requests_.push_back(request); }
  /// Returns the requests that ended.
  const std::vector<Ended>& test();
  /// The request after the test: null where MPI has freed it.
  [[nodiscard]] MPI_Request request(std::size_t index) const { return requests_[index]; }

 private:
  std::vector<MPI_Request> requests_;
  std::vector<Ended> ended_;
#ifdef OPEN_MPI
  std::vector<int> indices_;
  std::vector<MPI_Status> statuses_;
#endif
};

enum class Direction : std::uint8_t { send, recv };

/// A message under way; it may consist of several pieces.
struct PendingMessage {
  Token token = 0;
  Rank peer = -1;
  std::uint32_t open = 0;  // pieces under way
  Count posted = 0;        // elements whose pieces were posted
  int error = MPI_SUCCESS;
  std::uint64_t hash = 0;  // the peer's, of a first message received
  Direction direction = Direction::send;
  bool wrong_size = false;
  PostOptions options;
  Slice data;
  std::uint32_t number = 0;        // among the messages of its pair and direction
  PendingMessage* next = nullptr;  // to the same peer, waiting to leave after this one
  // Memory of a first or piggybacking message, for its head, the piggyback data, and the elements
  // sent with them.
  Staging::Block staged;
  int staged_bytes = 0;
  int staged_count = 0;  // of those elements
};

class Channels {
 public:
  /// One MPI request and the bytes that it should have moved.
  struct Piece {
    MPI_Request request = MPI_REQUEST_NULL;
    PendingMessage* pending = nullptr;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    int count = 0;
    bool staged = false;
    Piece* next = nullptr;  // of the same channel
  };

  explicit Channels(Rank peers) : channels_(2 * static_cast<std::size_t>(peers)) {}

  void add(const Piece& piece);
  /// Calls settle(piece, status, code) for pieces that are done, of the channels that it looks at:
  /// polls stay short however many there are. `settle` may add pieces of the same message.
  template <class Settle>
  void collect(const Settle& settle);
  [[nodiscard]] bool none() const { return open_.empty(); }
  /// The peers of all channels with pieces under way.
  [[nodiscard]] std::vector<Rank> peers() const;
  /// Forgets all pieces, and cancels receives; one that already began, or a send, gets a second to
  /// end, then its request is freed. Returns false if one was freed, so that MPI may still use its
  /// memory.
  bool abandon();

 private:
  static constexpr std::size_t kTests = 32;  // of channels, in one poll

  /// The pieces of one peer and direction, in the order of their messages.
  struct Channel {
    Piece* first = nullptr;
    Piece* last = nullptr;
  };

  template <class Settle>
  void collect_more(Channel& channel, const Settle& settle);
  template <class Settle>
  void take_first(Channel& channel, const MPI_Status& status, int code, const Settle& settle);

  std::vector<Channel> channels_;
  std::deque<Piece> pieces_;  // their addresses stay
  Piece* free_ = nullptr;
  std::vector<Channel*> open_;  // those with pieces under way
  std::size_t next_open_ = 0;   // the next one to test
  OpenRequests first_requests_;
};

template <class Settle>
void Channels::collect(const Settle& settle) {
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
  // Whoever abandons the rest, since `settle` threw, must not know those that MPI has freed.
  for (const auto& [index, code, status] : ended) {
    channel(index).first->request = first_requests_.request(index);
  }
  for (const auto& [index, code, status] : ended) {
    take_first(channel(index), status, code, settle);
    collect_more(channel(index), settle);
  }
  next_open_ += tested;
  if (!ended.empty()) {
    std::erase_if(open_, [](const Channel* each) { return each->first == nullptr; });
  }
}

/// Collects further pieces of a channel whose first one was done.
template <class Settle>
void Channels::collect_more(Channel& channel, const Settle& settle) {
  while (channel.first != nullptr) {
    int done = 0;
    MPI_Status status;
    const int code = PMPI_Test(&channel.first->request, &done, &status);
    if (done == 0 && code == MPI_SUCCESS) return;
    take_first(channel, status, code, settle);
  }
}

template <class Settle>
void Channels::take_first(Channel& channel, const MPI_Status& status, int code,
                          const Settle& settle) {
  Piece& piece = *channel.first;
  settle(piece, status, code);  // may add the message's next piece, behind this one
  channel.first = piece.next;
  piece.next = std::exchange(free_, &piece);
}

}  // namespace latecomer
