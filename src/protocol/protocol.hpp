// Protocols, which react to events of one call, and executors, which run them: by a program or by a
// state machine that decides while it runs.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "protocol/transport.hpp"
#include "schedule/program.hpp"

namespace latecomer {

// A protocol: the state machine that runs on one rank in one call. It reacts to events and posts
// operations on its transport. Running a program is the simplest protocol (engine/engine.hpp).

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

/// A protocol with a status of its own.
class BasicProtocol : public Protocol {
 public:
  [[nodiscard]] Status status() const final { return status_; }
  [[nodiscard]] const std::string& failure() const final { return failure_; }

 protected:
  /// The first failure counts.
  void fail(std::string why) {
    if (status_ == Status::failed) return;
    status_ = Status::failed;
    failure_ = std::move(why);
  }
  void fail_by_plan(Rank other, Rank own) {
    fail("rank " + std::to_string(other) + " follows another plan than rank " +
         std::to_string(own));
  }

  Status status_ = Status::running;
  std::string failure_;
};

// An executor: executes one rank's part of one plan, by a program or by a state machine that
// decides while it runs. The caller sees no difference.

struct ProtocolOptions {
  std::uint32_t window = 64;           // requests in flight per peer and direction
  bool combine_before_arrival = true;  // false for user operators: they stay off the thread
};

/// The meaning of a control message, for people.
struct ControlMeaning {
  /// A rank that takes part from a round on.
  struct Entry {
    Rank rank = 0;
    Count round = 0;
  };
  std::string name;             // one word; empty: unknown
  std::optional<Rank> rank;     // a rank that it names
  std::optional<Count> number;  // a round or a segment that it names
  std::vector<Entry> entries;
};

class Executor {
 public:
  virtual ~Executor() = default;

  /// The plan's hash, this rank, and the sizes of its buffers.
  [[nodiscard]] virtual const RankContext& context() const = 0;
  /// Creates the protocol for one call. The executor and the transport must outlive it.
  [[nodiscard]] virtual std::unique_ptr<Protocol> create_protocol(
      Transport& transport, const ProtocolOptions& options) const = 0;
  /// The meaning of a control message that a rank of the same plan sent.
  [[nodiscard]] virtual ControlMeaning meaning(ControlWords /*words*/) const { return {}; }
};

/// The executors of all ranks, by rank.
using Executors = std::vector<std::unique_ptr<Executor>>;

}  // namespace latecomer
