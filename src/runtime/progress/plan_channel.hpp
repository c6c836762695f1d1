// The progress threads of a communicator tell each other of calls: requests for plans, rank 0's
// answers, and the signatures by which a rank knows a call.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/call/call.hpp"
#include "transports/mpi/mailbox.hpp"

namespace latecomer {

// The signature of a call: built-in operators and datatypes as numbers that are equal on all ranks,
// so that a rank can know a call before it enters it.

/// The properties of a call that all ranks share.
struct CallSignature {
  std::uint64_t count = 0;  // of the whole vector
  std::uint16_t op = 0;
  std::uint16_t type = 0;
  std::uint16_t collective = 0;
  std::int32_t root = 0;

  bool operator==(const CallSignature&) const = default;
};

/// Nothing for the user's operators and datatypes, for pairs of numbers, and for parts of different
/// lengths.
[[nodiscard]] std::optional<CallSignature> signature_of(const Call& call, Rank ranks, Rank me);

/// True if the signature is one of a call of `ranks` ranks; the functions below require it.
[[nodiscard]] bool is_valid(const CallSignature& signature, Rank ranks);

[[nodiscard]] MPI_Op op_of(const CallSignature& signature);
[[nodiscard]] MPI_Datatype type_of(const CallSignature& signature);
/// The problem, not in place.
[[nodiscard]] Problem problem_of(const CallSignature& signature, Rank ranks);

// Messages between the progress threads of a communicator: requests for the plan of a call,
// announcements, and reports of expected arrivals. Each names its call; one that arrives too late
// is ignored.

/// The part of a message that has a fixed length.
struct PlanHead {
  enum class Kind : std::uint64_t {
    request,  // for the plan of a call that the sender has entered
    plan,     // the plan, in its text form
    native,   // the MPI library executes the call; the text gives the reason, if it was refused
    report,   // the sender's expected arrival
  };

  Kind kind = Kind::request;
  std::uint64_t call = 0;
  /// In all but reports, what Chooser::calls_known() is right before the call. Who has not made all
  /// calls before it, of which the MPI library may have let others leave, does not begin it.
  std::uint64_t known = 0;
  CallSignature signature{};
  /// In a report, the expected arrival on the common clock; with a plan or a native call, its
  /// price.
  Seconds arrival = 0;
  /// In a report, the part of the computation that it rests on; with a plan or a native call, 1 if
  /// the ranks exchange arrivals afterwards, 2 if a block of calls ends, otherwise 0.
  double weight = 0;
  std::uint32_t row = 0;  // of a plan or a native call: the registry row that was chosen
};
struct PlanMessage : PlanHead {
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

/// The state with which rank 0 of a communicator plans calls for all ranks: the requests for plans,
/// and the reported arrivals.
class Sequencer {
 public:
  explicit Sequencer(Rank ranks) : reports_(static_cast<std::size_t>(ranks)) {}

  /// Notes that a rank is in a call, and has no plan.
  void note_request(const PlanMessage& request) { requested_.try_emplace(request.call, request); }
  void note_report(Rank from, const PlanMessage& report);
  /// The request for a plan of `call`; null: there was none.
  [[nodiscard]] const PlanHead* requested(std::uint64_t call) const;
  /// Forgets requests for calls up to this one, which are planned.
  void forget(std::uint64_t call) {
    requested_.erase(requested_.begin(), requested_.upper_bound(call));
  }

  /// The arrivals to plan `call` with, in seconds after the earliest: the forecast from earlier
  /// calls (empty: there is none), blended with the ranks' reports. A report has the weight of the
  /// part of the computation that it rests on, and full weight without a forecast. `now` on the
  /// clock of the reports: one rank has arrived.
  [[nodiscard]] std::vector<Seconds> blend(std::uint64_t call, std::vector<Seconds> forecast,
                                           Seconds now) const;

 private:
  struct Report {
    std::uint64_t call = 0;  // 0: none
    Seconds arrival = 0;
    double weight = 0;
  };

  std::map<std::uint64_t, PlanHead> requested_;  // by call
  std::vector<Report> reports_;                  // the last of each rank
};

}  // namespace latecomer
