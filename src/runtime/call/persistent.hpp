// Persistent calls: announced once, then started and waited for again and again. Started calls of a
// communicator are carried out one after another in the order of their starts, which is the same on
// all ranks, whatever the order in which ranks wait for them.
#pragma once

#include <memory>

#include "runtime/comm_state.hpp"

namespace latecomer {

class PersistentCall {
 public:
  /// Plans the call and builds its program where latecomer would handle it. Local.
  explicit PersistentCall(const Call& arguments);

  /// Throws Error if it was started and not waited for since, or the communicator was freed.
  void start();
  /// Carries out this call and those started before it. At once if it was not started. Returns
  /// MPI's code; errors went through the communicator's error handler. Throws Error if the
  /// communicator was freed.
  int wait();
  /// Whether it was started and not waited for since, on a communicator that is still there.
  [[nodiscard]] bool active() const { return stage_ != Stage::inactive && !comm_.expired(); }

 private:
  enum class Stage : std::uint8_t { inactive, started, ended };
  friend void execute_started(CommState& state);

  [[nodiscard]] std::shared_ptr<StartedCalls> queue() const;
  static void execute_first(StartedCalls& started);

  Call arguments_;
  std::weak_ptr<StartedCalls> comm_;
  Stage stage_ = Stage::inactive;
  int code_ = MPI_SUCCESS;
};

/// Carries out a call that is not persistent, after those that were started. Returns MPI's code;
/// errors went through the communicator's error handler.
int execute_in_order(const Call& call);

/// Whatever was started on the communicator comes before another collective on it.
void execute_started(CommState& state);

/// Throws Error if calls are started: `what` would change their plans on some ranks only.
void refuse_while_started(const CommState& state, const char* what);

}  // namespace latecomer
