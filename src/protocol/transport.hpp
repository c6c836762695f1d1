// A transport moves and combines slices for a protocol and reports when each operation is done. No
// function blocks. MPI is one transport, the virtual-time network another.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "schedule/program.hpp"

namespace latecomer {

/// Data that travel along with the messages of a call (piggybacking), so that they cost no message
/// of their own.
class Piggyback {
 public:
  /// Transports reserve this much for each rank of the communicator.
  static constexpr std::size_t kMaxBytesPerRank = 20;

  virtual ~Piggyback() = default;

  /// Appends the data that travel with a message that is sent now: at most kMaxBytesPerRank for
  /// each rank of the communicator. In a call they begin with the data that travelled before.
  virtual void pack(std::vector<char>& to) = 0;
  /// Takes the data that a message carried, before the message's completion is delivered. Data
  /// that cannot be read are ignored.
  virtual void unpack(const char* data, std::size_t bytes) = 0;
};

/// Identifies an operation. The protocol chooses it; the completion returns it.
using Token = std::uint32_t;

/// Facts of a posted operation beside what it does.
struct PostOptions {
  bool first = false;       // of its pair and direction; it carries the hash of the sender's plan
  bool piggybacks = false;  // the call's piggyback data travel along: with a message; a signal and
                            // an accumulate leave them in the node; an await takes all that the
                            // other ranks have left
  bool paced = false;       // a message leaves when its receive is posted, even if it is short
  bool waits = false;       // an accumulate, if another rank is at the flag; or it ends as `busy`
};

/// An operation as it was posted, for transports that begin it later.
struct Posted {
  Operation operation;
  Token token = 0;
  PostOptions options;
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
[[nodiscard]] inline std::string failure_of(const Completion& failed) {
  const std::string whose = failed.peer >= 0
                                ? "a message to or from rank " + std::to_string(failed.peer)
                                : "a message or local work";
  return whose + " failed with transport error " + std::to_string(failed.error);
}

class Transport {
 public:
  virtual ~Transport() = default;

  /// Begins an operation, which is no arrival (schedule/program.hpp). Only ranks that share memory
  /// use flags.
  virtual void post(const Operation& operation, Token token, PostOptions options) = 0;

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
