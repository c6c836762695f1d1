#include "runtime/background/post.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "transports/mpi/tags.hpp"

namespace latecomer {
namespace {

/// The part of a letter that has a fixed length.
struct Head {
  Letter::Kind kind;
  std::uint64_t call;
  Description what;
  Seconds arrival;
  double weight;
  std::uint32_t row;
};

std::vector<char> pack(const Letter& letter) {
  const Head head{letter.kind, letter.call, letter.what, letter.arrival, letter.weight, letter.row};
  std::vector<char> bytes(sizeof head + letter.text.size());
  std::memcpy(bytes.data(), &head, sizeof head);
  std::copy(letter.text.begin(), letter.text.end(), bytes.begin() + sizeof head);
  return bytes;
}

Letter unpack(const std::vector<char>& bytes) {
  Head head{};
  std::memcpy(&head, bytes.data(), std::min(sizeof head, bytes.size()));
  Letter letter{head.kind, head.call, head.what, head.arrival, head.weight, head.row, {}};
  if (bytes.size() > sizeof head) letter.text.assign(bytes.begin() + sizeof head, bytes.end());
  return letter;
}

}  // namespace

Post::Post(MPI_Comm comm) : comm_(comm) {
  int ranks = 0;
  PMPI_Comm_size(comm, &ranks);
  sent_.resize(static_cast<std::size_t>(ranks));
}

Post::~Post() {
  for (Sent& sent : leaving_) {
    if (sent.request != MPI_REQUEST_NULL) PMPI_Request_free(&sent.request);
  }
}

void Post::note(int code) {
  if (error_ == MPI_SUCCESS) error_ = code;
}

void Post::send(Rank to, const Letter& letter) {
  forget_sent();
  Sent& sent = leaving_.emplace_back(Sent{pack(letter), MPI_REQUEST_NULL});
  note(PMPI_Isend(sent.bytes.data(), static_cast<int>(sent.bytes.size()), MPI_BYTE, to,
                  Tags::kLetters, comm_, &sent.request));
  ++sent_[static_cast<std::size_t>(to)];
}

void Post::forget_sent() {
  const auto left = [this](Sent& sent) {
    int done = 0;
    note(PMPI_Test(&sent.request, &done, MPI_STATUS_IGNORE));
    return done != 0;
  };
  while (!leaving_.empty() && left(leaving_.front())) leaving_.pop_front();
}

std::optional<Delivered> Post::receive() {
  int found = 0;
  MPI_Status status;
  note(PMPI_Iprobe(MPI_ANY_SOURCE, Tags::kLetters, comm_, &found, &status));
  if (found == 0 || error_ != MPI_SUCCESS) return std::nullopt;
  int count = 0;
  PMPI_Get_count(&status, MPI_BYTE, &count);
  std::vector<char> bytes(static_cast<std::size_t>(count));
  note(PMPI_Recv(bytes.data(), count, MPI_BYTE, status.MPI_SOURCE, Tags::kLetters, comm_,
                 MPI_STATUS_IGNORE));
  ++received_;
  return Delivered{status.MPI_SOURCE, unpack(bytes)};
}

void Post::begin_drain() {
  note(PMPI_Ireduce_scatter_block(sent_.data(), &expected_, 1, MPI_UINT64_T, MPI_SUM, comm_,
                                  &counted_));
}

bool Post::drained() {
  while (receive()) {
  }
  forget_sent();
  int counted = 0;
  note(PMPI_Test(&counted_, &counted, MPI_STATUS_IGNORE));
  if (error_ != MPI_SUCCESS) return true;
  return counted != 0 && received_ == expected_ && leaving_.empty();
}

void drain(const std::vector<Post*>& posts) {
  for (Post* const post : posts) post->begin_drain();
  for (std::size_t done = 0; done < posts.size();) {
    done = 0;
    for (Post* const post : posts) done += post->drained() ? 1 : 0;
    if (done < posts.size()) std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

}  // namespace latecomer
