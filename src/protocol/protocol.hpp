// A protocol: the state machine that runs on one rank in one call. It reacts to events and posts
// operations on its transport. Running a program is the simplest protocol (engine/engine.hpp).
#pragma once

#include "protocol/transport.hpp"

namespace latecomer {

enum class Status : std::uint8_t { running, done, failed };

struct ProtocolOptions;

class Protocol {
 public:
  virtual ~Protocol() = default;

  /// Returns to the state before start(), for another call by the same executor on the same
  /// transport, without allocating memory. Returns false if the protocol cannot; the caller then
  /// creates a new one.
  [[nodiscard]] virtual bool restart(const ProtocolOptions& /*options*/) { return false; }

  /// Called once, first. Posts the operations that may run before the arrival.
  virtual void start() = 0;
  /// Called once, when this rank enters the call.
  virtual void arrive() = 0;
  /// Called once for each posted operation, when it has ended.
  virtual void completed(const Completion& completion) = 0;
  /// True if the ranks send each other control messages. A program's ranks do not.
  [[nodiscard]] virtual bool uses_control() const { return false; }
  /// Called for each control message from another rank in this call, also before the arrival.
  /// Messages that come after the protocol is done may be dropped.
  virtual void on_control(Rank /*from*/, ControlWords /*words*/) {}

  [[nodiscard]] virtual Status status() const = 0;
  /// The number of operations that are done; 0 where the protocol does not count them.
  [[nodiscard]] virtual std::size_t done() const { return 0; }
  /// The reason of a failure; empty if there is none.
  [[nodiscard]] virtual const std::string& failure() const = 0;
  /// A text that names the awaited event or rank, for reports of stalls.
  [[nodiscard]] virtual std::string waiting_for() const = 0;
};

}  // namespace latecomer
