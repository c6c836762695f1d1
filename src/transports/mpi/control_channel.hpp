// Control messages of a protocol: words of 64 bits from one rank to another in a call, which the
// receiver need not expect. One may arrive after its receiver has left the call, so it names its
// call, and later calls drop it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "transports/mpi/mailbox.hpp"
#include "transports/mpi/tags.hpp"

namespace latecomer {

class ControlChannel {
 public:
  explicit ControlChannel(Link link) : mailbox_(std::move(link), Tags::kControl) {}

  using Words = std::span<const std::uint64_t>;
  struct Message {
    Rank from;
    std::vector<std::uint64_t> words;
  };
  /// Begins a call. Numbers of calls ascend.
  void begin(std::uint64_t call);
  void send(Rank to, Words words);
  /// Returns the next message of this call that has arrived; messages of one sender keep their
  /// order. While none arrives, only some of the calls probe, since MPI then looks at all ranks.
  [[nodiscard]] std::optional<Message> receive();
  /// True if messages were sent or probed for: some may never be received.
  [[nodiscard]] bool used() const { return used_; }
  /// MPI's code of the first failure.
  [[nodiscard]] int error() const { return mailbox_.error(); }

 private:
  struct Received {
    std::uint64_t call = 0;
    Message message;
  };

  [[nodiscard]] std::optional<Message> receive_kept();

  Mailbox mailbox_;
  std::uint64_t call_ = 0;
  bool used_ = false;
  int skips_left_ = 0;                 // calls of receive() until the next probe
  std::vector<std::uint64_t> packet_;  // the call, and the words
  std::vector<Received> kept_;         // of later calls
};

}  // namespace latecomer
