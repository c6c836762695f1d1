// Persistent calls: announced once, then started and waited for repeatedly. Started calls of a
// communicator are executed one after another in the order of their starts, which is equal on all
// ranks, even if ranks wait for them in other orders.
#pragma once

#include <memory>

#include "runtime/comm_state.hpp"

namespace latecomer {

class PersistentCall {
 public:
  /// Plans the call and builds its program if latecomer would handle it. Local.
  explicit PersistentCall(const Call& arguments);

  /// Throws Error if it was started and not waited for since, or the communicator was freed.
  void start();
  /// Executes this call and those started before it; returns at once if it was not started. Returns
  /// MPI's code; errors went through the communicator's error handler. Throws Error if the
  /// communicator was freed.
  int wait();
  /// True if it was started and not waited for since, on a communicator that still exists.
  [[nodiscard]] const Call& arguments() const { return arguments_; }
  [[nodiscard]] bool active() const { return stage_ != Stage::inactive && !comm_.expired(); }

 private:
  enum class Stage : std::uint8_t { inactive, started, ended };
  friend void execute_started(const CommState& state);

  [[nodiscard]] std::shared_ptr<StartedCalls> queue() const;
  static void execute_first(StartedCalls& started);

  Call arguments_;
  std::weak_ptr<StartedCalls> comm_;
  Stage stage_ = Stage::inactive;
  int code_ = MPI_SUCCESS;
};

/// Executes a call that is not persistent, after those that were started. Returns MPI's code;
/// errors went through the communicator's error handler.
int execute_in_order(const Call& call);

/// Executes the started calls, before another collective function on the communicator.
void execute_started(const CommState& state);

/// Throws Error if calls are started: `what` would change their plans on some ranks only.
void refuse_while_started(const CommState& state, const char* what);

}  // namespace latecomer
