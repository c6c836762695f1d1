// What runs on one rank in one call: a state machine that reacts to events and posts operations
// on its transport. Running a program is the simplest protocol (engine/engine.hpp).
#pragma once

#include "protocol/transport.hpp"

namespace latecomer {

enum class Status : std::uint8_t { running, done, failed };

struct ProtocolOptions;

class Protocol {
 public:
  virtual ~Protocol() = default;

  /// Back to the state before start(), for another call of the same party on the same transport,
  /// without allocating memory. False: it cannot; join the call with a new one.
  [[nodiscard]] virtual bool restart(const ProtocolOptions& /*options*/) { return false; }

  /// Once, first. What may run before the arrival is posted here.
  virtual void start() = 0;
  /// Once: the local rank entered the call.
  virtual void arrive() = 0;
  /// Once for each operation that was posted.
  virtual void completed(const Completion& completion) = 0;
  /// Whether ranks tell each other words. A program's do not.
  [[nodiscard]] virtual bool listens() const { return false; }
  /// Of those that listen: once for each word that another rank tells this one in the call, also
  /// before the arrival; when the protocol is done it may go unheard.
  virtual void told(Rank /*from*/, std::uint64_t /*word*/) {}

  [[nodiscard]] virtual Status status() const = 0;
  /// Operations that are done, where that is counted.
  [[nodiscard]] virtual std::size_t done() const { return 0; }
  /// Why it failed; empty before.
  [[nodiscard]] virtual const std::string& failure() const = 0;
  /// In words, what it waits for; for reports of long waits.
  [[nodiscard]] virtual std::string waiting_for() const = 0;
};

}  // namespace latecomer
