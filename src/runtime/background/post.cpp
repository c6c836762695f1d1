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
};

std::vector<char> pack(const Letter& letter) {
  const Head head{letter.kind, letter.call, letter.what, letter.arrival, letter.weight};
  std::vector<char> bytes(sizeof head + letter.text.size());
  std::memcpy(bytes.data(), &head, sizeof head);
  std::copy(letter.text.begin(), letter.text.end(), bytes.begin() + sizeof head);
  return bytes;
}

/// Nothing if no rank of this library wrote it.
std::optional<Letter> unpack(std::span<const char> bytes, Rank ranks) {
  Head head{};
  if (bytes.size() < sizeof head) return std::nullopt;
  std::memcpy(&head, bytes.data(), sizeof head);
  const auto text = bytes.subspan(sizeof head);
  if (head.kind > Letter::Kind::report || !known(head.what, ranks)) return std::nullopt;
  return Letter{head.kind,    head.call,   head.what,
                head.arrival, head.weight, {text.begin(), text.end()}};
}

}  // namespace

Post::Post(MPI_Comm comm) : comm_(comm), mailbox_(comm, Tags::kLetters) {
  int ranks = 0;
  PMPI_Comm_size(comm, &ranks);
  sent_.resize(static_cast<std::size_t>(ranks));
}

void Post::note(int code) {
  if (error_ == MPI_SUCCESS) error_ = code;
}

void Post::send(Rank to, const Letter& letter) {
  const std::vector<char> bytes = pack(letter);
  mailbox_.send(to, bytes.data(), bytes.size());
  ++sent_[static_cast<std::size_t>(to)];
}

std::optional<Delivered> Post::receive() {
  while (const auto envelope = mailbox_.receive()) {
    ++received_;
    auto letter = unpack(envelope->content, static_cast<Rank>(sent_.size()));
    if (letter) return Delivered{envelope->from, std::move(*letter)};
  }
  return std::nullopt;
}

void Post::begin_drain() {
  note(PMPI_Ireduce_scatter_block(sent_.data(), &expected_, 1, MPI_UINT64_T, MPI_SUM, comm_,
                                  &counted_));
}

bool Post::drained() {
  while (receive()) {
  }
  int counted = 0;
  note(PMPI_Test(&counted_, &counted, MPI_STATUS_IGNORE));
  if (error() != MPI_SUCCESS) return true;
  return counted != 0 && received_ == expected_ && mailbox_.idle();
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
