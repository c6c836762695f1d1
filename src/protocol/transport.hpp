// The world below a protocol: it moves and combines slices and tells when each is done. Nothing
// here blocks. MPI is one transport, virtual time another.
#pragma once

#include <string>

#include "schedule/program.hpp"

namespace latecomer {

/// Chosen by the protocol; comes back with the completion.
using Token = std::uint32_t;

/// One message of a call. `first`: of this pair and direction in the call; it carries the hash of
/// the sender's plan.
struct Message {
  Rank peer = -1;
  Slice data;
  bool first = false;
  bool piggybacks = false;  // what a piggyback sends travels along
  bool paced = false;       // leaves when its receive is posted, however short it is
};

/// How an operation ended.
struct Completion {
  Token token = 0;
  int error = 0;                // 0, or the transport's own code
  std::uint64_t plan_hash = 0;  // the sender's, of a `first` message received
};

class Transport {
 public:
  virtual ~Transport() = default;

  /// `plan_hash` travels with a first message.
  virtual void send(const Message& message, std::uint64_t plan_hash, Token token) = 0;
  virtual void recv(const Message& message, Token token) = 0;
  /// result = left op right, kept where `into` says.
  virtual void combine(const Slice& left, const Slice& right, Into into, Token token) = 0;
  virtual void copy(const Slice& from, const Slice& to, Token token) = 0;

  /// A word that needs no receive: the peer is told of it in the same call, whatever it
  /// does, unless it is done by then. Words of one pair and direction keep their order; against
  /// messages, and against words of others, they have none. Nothing tells when it is there.
  virtual void tell(Rank peer, std::uint64_t word) = 0;
};

}  // namespace latecomer
