// Messages between the progress threads of a communicator: requests for the plan of a call,
// announcements, and reports of expected arrivals. Each names its call; one that arrives too late
// is ignored.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/progress/call_signature.hpp"
#include "transports/mpi/mailbox.hpp"

namespace latecomer {

struct PlanMessage {
  enum class Kind : std::uint64_t {
    request,  // for the plan of a call that the sender has entered
    plan,     // the plan, in its text form
    native,   // the MPI library executes the call; the text gives the reason, if it was refused
    report,   // the sender's expected arrival
  };

  Kind kind = Kind::request;
  std::uint64_t call = 0;
  CallSignature signature{};
  /// In a report, the expected arrival on the common clock; with a plan or a native call, its
  /// price.
  Seconds arrival = 0;
  /// In a report, the part of the computation that it rests on; with a plan or a native call, 1 if
  /// the ranks exchange arrivals afterwards, otherwise 0.
  double weight = 0;
  std::uint32_t row = 0;  // of a plan or a native call: the registry row that was chosen
  std::string text;
};

struct ReceivedPlanMessage {
  Rank from = -1;
  PlanMessage message;
};

/// For one thread at a time.
class PlanChannel {
 public:
  /// The communicator outlives the channel. `owner`: of the resources; messages of an earlier
  /// owner, which may still be under way, are dropped.
  PlanChannel(const Link& link, std::uint64_t owner);

  void send(Rank to, const PlanMessage& message);
  /// Returns the next message that has arrived. One that cannot be read is dropped.
  std::optional<ReceivedPlanMessage> receive();
  /// MPI's code of the first failure.
  [[nodiscard]] int error() const { return mailbox_.error(); }

 private:
  Rank ranks_;
  std::uint64_t owner_;
  Mailbox mailbox_;
};

}  // namespace latecomer
