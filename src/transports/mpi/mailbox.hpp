// Small messages between the ranks of a communicator, under one tag, beside those of calls. A send
// is never waited for, a receive is never posted: nothing needs to be cancelled when the mailbox
// goes. What nobody asked for by then is left to the communicator, so contents name their call, and
// whoever frees the communicator asks used().
#pragma once

#include <cstddef>
#include <cstring>
#include <list>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "base/types.hpp"
#include "transports/mpi/mpi.hpp"

namespace latecomer {

/// One thread at a time.
class Mailbox {
 public:
  /// The communicator returns errors (MPI_ERRORS_RETURN).
  Mailbox(MPI_Comm comm, int tag) : comm_(comm), tag_(tag) {}
  /// Does not wait: sends under way keep their memory until MPI is done with it.
  ~Mailbox();
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  struct Envelope {
    Rank from;
    std::span<const char> content;  // until the next receive

    /// Nothing if the content has another size.
    template <class Content>
    [[nodiscard]] std::optional<Content> as() const {
      static_assert(std::is_trivially_copyable_v<Content>);
      if (content.size() != sizeof(Content)) return std::nullopt;
      Content read;
      std::memcpy(&read, content.data(), sizeof read);
      return read;
    }
  };

  /// Copies the content.
  void send(Rank to, const void* content, std::size_t size);
  /// The next one that is here; those of one sender in their order. Nothing after an error.
  [[nodiscard]] std::optional<Envelope> receive() { return receive_from(MPI_ANY_SOURCE); }
  [[nodiscard]] std::optional<Envelope> receive_from(Rank from);

  /// Nothing that was sent is under way on this side.
  [[nodiscard]] bool idle();
  /// Whether anything was ever sent or received.
  [[nodiscard]] bool used() const { return used_; }
  /// MPI's code of the first failure.
  [[nodiscard]] int error() const { return error_; }

  /// Waits for the sends of mailboxes that are gone, before MPI is finalized. False: some are still
  /// under way.
  static bool finish(Seconds at_most);

  struct Sent {
    std::vector<char> content;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  using Sends = std::list<Sent>;  // the contents' addresses stay

 private:
  void note(int code);
  void forget_sent();

  MPI_Comm comm_;
  int tag_;
  bool used_ = false;
  int error_ = MPI_SUCCESS;
  Sends leaving_;
  Sends spare_;  // their memory is used again
  std::vector<char> received_;
};

}  // namespace latecomer
