#include "runtime/progress/post.hpp"

#include <algorithm>
#include <cstring>

#include "transports/mpi/tags.hpp"

namespace latecomer {
namespace {

/// The part of a letter that has a fixed length.
struct Head {
  std::uint64_t owner;
  Letter::Kind kind;
  std::uint64_t call;
  Description what;
  Seconds arrival;
  double weight;
  std::uint32_t row;
};

std::vector<char> pack(const Letter& letter, std::uint64_t owner) {
  const Head head{owner,          letter.kind,   letter.call, letter.what,
                  letter.arrival, letter.weight, letter.row};
  std::vector<char> bytes(sizeof head + letter.text.size());
  std::memcpy(bytes.data(), &head, sizeof head);
  std::copy(letter.text.begin(), letter.text.end(), bytes.begin() + sizeof head);
  return bytes;
}

/// Nothing if no rank of this library wrote it for the link's owner.
std::optional<Letter> unpack(std::span<const char> bytes, Rank ranks, std::uint64_t owner) {
  Head head{};
  if (bytes.size() < sizeof head) return std::nullopt;
  std::memcpy(&head, bytes.data(), sizeof head);
  const auto text = bytes.subspan(sizeof head);
  if (head.owner != owner || head.kind > Letter::Kind::report || !known(head.what, ranks))
    return std::nullopt;
  return Letter{head.kind,
                head.call,
                head.what,
                head.arrival,
                head.weight,
                head.row,
                {text.begin(), text.end()}};
}

}  // namespace

Post::Post(MPI_Comm comm, std::uint64_t owner)
    : ranks_(0), owner_(owner), mailbox_(comm, Tags::kLetters) {
  PMPI_Comm_size(comm, &ranks_);
}

void Post::send(Rank to, const Letter& letter) {
  const std::vector<char> bytes = pack(letter, owner_);
  mailbox_.send(to, bytes.data(), bytes.size());
}

std::optional<Delivered> Post::receive() {
  while (const auto envelope = mailbox_.receive()) {
    auto letter = unpack(envelope->content, ranks_, owner_);
    if (letter) return Delivered{envelope->from, std::move(*letter)};
  }
  return std::nullopt;
}

}  // namespace latecomer
