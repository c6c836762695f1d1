// Small messages between the ranks of a communicator, under one tag, separate from those of calls.
// A send is never waited for, a receive is never posted: nothing needs to be cancelled when the
// mailbox goes. Messages that were not received by then are left to the communicator, so contents
// name their call, and the owner of the communicator asks used() before freeing it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <list>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "base/types.hpp"
#include "transports/mpi/link.hpp"

namespace latecomer {

/// For one thread at a time.
class Mailbox {
 public:
  Mailbox(Link link, int tag) : link_(std::move(link)), tag_(link_.tag(tag)) {}
  /// Does not wait: sends under way keep their memory until MPI is done with it.
  ~Mailbox();
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  struct Envelope {
    Rank from;
    std::span<const char> content;  // until the next receive

    /// The content as a value; nothing if it has another size.
    template <class Content>
    [[nodiscard]] std::optional<Content> as() const {
      static_assert(std::is_trivially_copyable_v<Content>);
      if (content.size() != sizeof(Content)) return std::nullopt;
      Content read;
      std::memcpy(&read, content.data(), sizeof read);
      return read;
    }
  };

  /// Sends a copy of the content.
  void send(Rank to, const void* content, std::size_t size);
  /// Returns the next message that has arrived; messages of one sender keep their order. Nothing
  /// after an error.
  [[nodiscard]] std::optional<Envelope> receive() { return receive_at(MPI_ANY_SOURCE); }
  [[nodiscard]] std::optional<Envelope> receive_from(Rank from) {
    return receive_at(link_.place(from));
  }

  /// True if no send is under way on this side.
  [[nodiscard]] bool idle();
  /// True if a message was ever sent or received.
  [[nodiscard]] bool used() const { return used_; }
  /// MPI's code of the first failure, or MPI_SUCCESS.
  [[nodiscard]] int error() const { return error_; }

  /// Waits for the sends of mailboxes that are gone, before MPI is finalized. Returns false if some
  /// are still under way.
  static bool finish(Seconds at_most);

  struct Sent {
    std::vector<char> content;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  using Sends = std::list<Sent>;  // the contents' addresses stay

 private:
  [[nodiscard]] std::optional<Envelope> receive_at(int place);
  void note(int code);
  void forget_sent();

  Link link_;
  int tag_;  // of the MPI communicator
  bool used_ = false;
  int error_ = MPI_SUCCESS;
  Sends leaving_;
  Sends spare_;  // done; their memory is used again
  std::vector<char> received_;
};

// Messages that may still come to links that are gone: protocols do not wait for the last ones.
// Nobody asks for them, but MPI libraries keep memory for each, so they are received a little
// later.

/// Receives, and throws away, what has come to links that went before; from now on also what comes
/// to this one, whose communicator is never freed and whose tags are not used again. Waits for
/// nothing.
void receive_leftovers_of(const Link& link);

/// Control messages of a protocol: words of 64 bits from one rank to another in a call, which the
/// receiver need not expect. One may arrive after its receiver has left the call, so it names its
/// call, and later calls drop it.
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
