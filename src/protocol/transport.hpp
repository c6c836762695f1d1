// A transport moves and combines slices for a protocol and reports when each operation is done. No
// function blocks. MPI is one transport, the virtual-time network another.
#pragma once

#include <span>
#include <string>

#include "schedule/program.hpp"

namespace latecomer {

/// Identifies an operation. The protocol chooses it; the completion returns it.
using Token = std::uint32_t;

/// One message of a call.
struct Message {
  Rank peer = -1;
  Slice data;
  bool first = false;       // of its pair and direction; it carries the hash of the sender's plan
  bool piggybacks = false;  // the call's piggyback data travel along
  bool paced = false;       // leaves when its receive is posted, even if it is short
};

/// The words of a control message.
using ControlWords = std::span<const std::uint64_t>;

/// The end of an operation.
struct Completion {
  Token token = 0;
  int error = 0;                // 0, or the transport's own code
  std::uint64_t plan_hash = 0;  // the sender's, after receiving a `first` message
  bool busy = false;            // an accumulate was not begun: another rank is at it
  Rank stranger = -1;  // a rank of the node that follows another plan; of no operation then
  Rank peer = -1;  // with an error: the other rank of the message; -1: of local work, or unknown
};

/// "a message to or from rank 3 failed with transport error 17", of a completion with an error.
[[nodiscard]] std::string failure_of(const Completion& failed);

/// An operation on a flag of the node (schedule/program.hpp).
struct FlagUse {
  std::int32_t flag = 0;
  Rank count = 0;           // await
  Slice source;             // accumulate
  Slice target;             // accumulate
  bool piggybacks = false;  // signal and accumulate leave the call's piggyback data in the node;
                            // await takes all that the other ranks have left
};

class Transport {
 public:
  virtual ~Transport() = default;

  /// `plan_hash` travels with a first message.
  virtual void send(const Message& message, std::uint64_t plan_hash, Token token) = 0;
  virtual void recv(const Message& message, Token token) = 0;
  /// Computes left op right into the operand that `into` names.
  virtual void combine(const Slice& left, const Slice& right, Into into, Token token) = 0;
  virtual void copy(const Slice& from, const Slice& to, Token token) = 0;

  // Operations of programs whose ranks share memory. Transports of other programs have none.
  virtual void signal(const FlagUse& use, Token token);
  virtual void await(const FlagUse& use, Token token);
  /// If another rank accumulates on this flag now: completes as `busy`, or waits if `waits`.
  virtual void accumulate(const FlagUse& use, bool waits, Token token);

  /// Tells that a slice of this rank's result is there: the protocol writes it no more. For
  /// transports that pass results on.
  virtual void settled(const Slice& /*result*/) {}

  /// Sends a control message of one word or more, which needs no posted receive: the peer's
  /// protocol gets it in the same call unless it is done by then. Messages of one pair and
  /// direction keep their order; they have no order relative to data messages or to other pairs.
  /// There is no completion.
  virtual void send_control(Rank peer, ControlWords words) = 0;
};

}  // namespace latecomer
