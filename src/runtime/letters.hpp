// Small messages of the runtime between two ranks, outside of a call's own: each wait for one
// reports, and ends when another rank failed.
#pragma once

#include <string>
#include <type_traits>

#include "runtime/link.hpp"
#include "runtime/run.hpp"
#include "transports/mpi/mailbox.hpp"

namespace latecomer {

/// After a failure nothing more is sent or received.
class Letters {
 public:
  /// `purpose`, of the reports: "to set the clock".
  Letters(Link& link, const RunOptions& options, int tag, std::string purpose)
      : link_(link),
        options_(options),
        mailbox_(link.comm->get(), tag),
        purpose_(std::move(purpose)) {}

  [[nodiscard]] bool failed() const { return outcome_.code != MPI_SUCCESS; }
  [[nodiscard]] const Outcome& outcome() const { return outcome_; }

  template <class Content>
  void send(Rank peer, const Content& content) {
    static_assert(std::is_trivially_copyable_v<Content>);
    send_bytes(peer, &content, sizeof content);
  }
  template <class Content>
  void receive(Rank peer, Content& content) {
    static_assert(std::is_trivially_copyable_v<Content>);
    receive_bytes(peer, &content, sizeof content);
  }

 private:
  void send_bytes(Rank peer, const void* content, std::size_t size);
  void receive_bytes(Rank peer, void* content, std::size_t size);
  template <class Done>
  void wait(Rank peer, Done&& done);
  void check();

  Link& link_;
  RunOptions options_;
  Mailbox mailbox_;
  std::string purpose_;
  Outcome outcome_;
};

}  // namespace latecomer
