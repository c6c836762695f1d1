// Letters between the progress threads of a communicator: asking for the plan of a call, announcing
// it, reporting when a rank will arrive. They name their call: one that comes too late says
// nothing.
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
    plan,     // it, in its text form
    native,   // the call is the MPI library's; the text says why, if that was not the choice
    report,   // when the sender will arrive
  };

  Kind kind = Kind::request;
  std::uint64_t call = 0;
  CallSignature signature{};
  Seconds arrival = 0;    // of a report, on the common clock; of a plan or a native call its price
  double weight = 0;      // of a report: the part of the computation that it rests on; of a plan or
                          // a native call: whether ranks tell of it afterwards, 1 or 0
  std::uint32_t row = 0;  // of a plan or a native call: the registry row that was chosen
  std::string text;
};

struct ReceivedPlanMessage {
  Rank from = -1;
  PlanMessage message;
};

/// One thread at a time.
class PlanChannel {
 public:
  /// The communicator outlives the post. `owner`: of the link; letters between posts of an earlier
  /// one, which may still be under way, are dropped.
  PlanChannel(MPI_Comm comm, std::uint64_t owner);

  void send(Rank to, const PlanMessage& message);
  /// The next letter that has come; nothing else is waited for. One that cannot be read is dropped.
  std::optional<ReceivedPlanMessage> receive();
  /// MPI's code of the first failure.
  [[nodiscard]] int error() const { return mailbox_.error(); }

 private:
  Rank ranks_;
  std::uint64_t owner_;
  Mailbox mailbox_;
};

}  // namespace latecomer
