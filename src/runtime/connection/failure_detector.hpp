// Detects failed ranks and disagreement about plans, by small messages between the ranks of a
// communicator: notices (agreement/notices.hpp). Ordinary calls send none.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "agreement/notices.hpp"
#include "transports/mpi/link.hpp"
#include "transports/mpi/mailbox.hpp"

namespace latecomer {

class FailureDetector : private Notices {
 public:
  explicit FailureDetector(const Link& link)
      : link_(link), mailbox_(link, Tags::kFailures), last_notice_(std::make_unique<Notice>()) {}

  using Notices::come_back;
  using Notices::continue_after;
  using Notices::enter_call;
  using Notices::enter_part;
  using Notices::Part;
  /// Notes that this rank leaves a call to the MPI library because of its own arguments. Returns a
  /// text if another rank waits for it there, or in an earlier call that it left so.
  std::optional<std::string> leave_to_library(std::uint64_t position);

  /// Sends `peer` this rank's place, once in each part of a call.
  void ask(Rank peer);
  /// Notifies all other ranks that this one failed, except those that failed themselves: such a
  /// rank may have left MPI, and some MPI libraries wait forever for a connection to it.
  void announce_failure();
  /// Reads the messages that arrived. Returns a text as Notices::check() does.
  std::optional<std::string> check();
  /// True if a message was sent or received: some may still be under way.
  [[nodiscard]] bool used() const { return mailbox_.used(); }

 private:
  void send(Rank peer, const Notice& notice);
  void send_failure(Rank peer);
  void receive();

  Link link_;
  Mailbox mailbox_;
  std::unique_ptr<Notice> last_notice_;  // of a failure, where there is no memory for another
  Notice* kept_notice_ = nullptr;        // the same, once it was sent
};

}  // namespace latecomer
