#include "transports/mpi/channels.hpp"

#include "transports/mpi/backoff.hpp"

namespace latecomer {

#ifdef OPEN_MPI

/// Each function that finds nothing done gives the processor away where ranks share cores: once for
/// all requests, not once for each.
const std::vector<OpenRequests::Ended>& OpenRequests::test() {
  ended_.clear();
  indices_.resize(requests_.size());
  statuses_.resize(requests_.size());
  ended_.reserve(requests_.size());  // from here on requests are freed, and nothing may throw
  int done = 0;
  const int code = PMPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &done,
                                 indices_.data(), statuses_.data());
  if (code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS) {
    // Nothing can be said of single requests: the first one stands for all.
    ended_.push_back({0, code, {}});
    return ended_;
  }
  for (int i = 0; done != MPI_UNDEFINED && i < done; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const int its_code = code == MPI_SUCCESS ? MPI_SUCCESS : statuses_[at].MPI_ERROR;
    ended_.push_back({static_cast<std::size_t>(indices_[at]), its_code, statuses_[at]});
  }
  return ended_;
}

#else

/// One by one: in MPICH errors of MPI_Testsome go to the handler of MPI_COMM_SELF, which is the
/// program's.
const std::vector<OpenRequests::Ended>& OpenRequests::test() {
  ended_.clear();
  ended_.reserve(requests_.size());  // from here on requests are freed, and nothing may throw
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    int done = 0;
    MPI_Status status;
    const int code = PMPI_Test(&requests_[i], &done, &status);
    if (done != 0 || code != MPI_SUCCESS) ended_.push_back({i, code, status});
  }
  return ended_;
}

#endif

void Channels::add(const Piece& piece) {
  if (free_ == nullptr) free_ = &pieces_.emplace_back();
  Piece& added = *std::exchange(free_, free_->next);
  added = piece;
  const auto peer = static_cast<std::size_t>(piece.pending->peer);
  Channel& channel = channels_[2 * peer + static_cast<std::size_t>(piece.pending->direction)];
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

std::vector<Rank> Channels::peers() const {
  std::vector<Rank> peers;
  for (const Channel* const channel : open_) peers.push_back(channel->first->pending->peer);
  return peers;
}

/// Takes no memory: often there is none.
bool Channels::abandon() {
  constexpr Seconds kAtMost = 1;
  const auto each = [&](const auto& work) {
    for (const Channel* const channel : open_) {
      for (Piece* piece = channel->first; piece != nullptr; piece = piece->next) work(*piece);
    }
  };
  each([](Piece& piece) {
    const bool receives = piece.pending->direction == Direction::recv;
    if (receives && piece.request != MPI_REQUEST_NULL) PMPI_Cancel(&piece.request);
  });
  const auto all_done = [&] {
    bool all = true;
    each([&](Piece& piece) {
      int done = 0;
      // A request whose test fails cannot be waited for.
      const int code = PMPI_Test(&piece.request, &done, MPI_STATUS_IGNORE);
      if (code == MPI_SUCCESS && done == 0) all = false;
    });
    return all;
  };
  wait_until(all_done, kAtMost);
  bool none = true;
  each([&](Piece& piece) {
    if (piece.request == MPI_REQUEST_NULL) return;
    PMPI_Request_free(&piece.request);
    none = false;
  });
  open_.clear();
  std::fill(channels_.begin(), channels_.end(), Channel{});
  free_ = nullptr;
  pieces_.clear();
  return none;
}

}  // namespace latecomer
