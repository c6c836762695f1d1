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
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    int done = 0;
    MPI_Status status;
    const int code = PMPI_Test(&requests_[i], &done, &status);
    if (done != 0 || code != MPI_SUCCESS) ended_.push_back({i, code, status});
  }
  return ended_;
}

#endif

namespace {

bool all_done(std::vector<MPI_Request>& requests) {
  bool all = true;
  for (MPI_Request& request : requests) {
    int done = 0;
    // A request whose test fails cannot be waited for.
    if (PMPI_Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done == 0) all = false;
  }
  return all;
}

/// Frees the requests that are left. Returns false if there were some.
bool free_rest(std::vector<MPI_Request>& requests) {
  bool none = true;
  for (MPI_Request& request : requests) {
    if (request == MPI_REQUEST_NULL) continue;
    PMPI_Request_free(&request);
    none = false;
  }
  return none;
}

}  // namespace

bool drain(std::vector<MPI_Request>& receives, std::vector<MPI_Request>& sends) {
  constexpr Seconds kAtMost = 1;
  for (MPI_Request& request : receives) {
    if (request != MPI_REQUEST_NULL) PMPI_Cancel(&request);
  }
  wait_until([&] { return all_done(receives) && all_done(sends); }, kAtMost);
  const bool received = free_rest(receives);
  return free_rest(sends) && received;
}

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

bool Channels::abandon() {
  std::vector<MPI_Request> receives, sends;
  for (const Channel* const channel : open_) {
    for (const Piece* piece = channel->first; piece != nullptr; piece = piece->next) {
      const bool receive = piece->pending->direction == Direction::recv;
      (receive ? receives : sends).push_back(piece->request);
    }
  }
  open_.clear();
  const bool done = drain(receives, sends);
  std::fill(channels_.begin(), channels_.end(), Channel{});
  free_ = nullptr;
  pieces_.clear();
  return done;
}

}  // namespace latecomer
