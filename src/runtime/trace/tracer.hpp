// Writes the calls of this process to its trace file, if LATECOMER_TRACE names a folder, and stamps
// them in memory, if a summary of the job is wanted. Ranks do not communicate for it: calls are
// matched when traces are read, by communicator and sequence.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "clocks/clock.hpp"
#include "runtime/call/call.hpp"
#include "runtime/trace/recorder.hpp"
#include "trace/records.hpp"

namespace latecomer::trace {

// The facts of a collective in its record: its data, its operator and its algorithm.

/// Sets what is known of the data before the call: bytes of the whole vector, of an element.
void describe(Call& record, const latecomer::Call& call, const CommState& state);
[[nodiscard]] std::string_view name_of(MPI_Op op);

/// The records of this process; null: its calls are not traced. The first time it is asked, which
/// must be after MPI_Init, the file is made.
[[nodiscard]] Recorder* recorder();
[[nodiscard]] inline bool is_on() { return recorder() != nullptr; }
/// The drop-in library writes the process's trace: none is made here.
void leave_to_dropin();

/// True if calls are traced, or stamped in memory (runtime/trace/stamps.hpp).
[[nodiscard]] bool is_recording();

/// Adds how far this rank's clock is from that of the communicator's rank 0, if calls are traced.
/// Throws where MPI refuses.
void add_clock(MPI_Comm comm, const ClockModel& model);

/// A communicator in the file.
struct TracedComm {
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  std::uint32_t id = kNone;  // kNone: messages on it are not traced
  // The members that a rank's messages go to: all, or of two groups the other one.
  std::int32_t first = 0;
  std::int32_t peers = 0;
  bool two_groups = false;
};
/// Throws where MPI refuses.
[[nodiscard]] TracedComm comm_of_messages(MPI_Comm comm);
/// The number of collectives so far on a communicator for which comm_of_messages() has an id. It
/// may outlive the communicator.
[[nodiscard]] std::shared_ptr<std::uint64_t> calls_on(MPI_Comm comm);
/// Adds a communicator with the ranks of this one, for what all of them have made of it, a "window"
/// or a "file", unless this rank has none. Returns its id; kNone: there is none, or nobody can be
/// waited for. All ranks count those that are made. Throws where MPI refuses.
[[nodiscard]] std::uint32_t made_of(MPI_Comm comm, std::string_view kind, bool is_there);
/// A collective call, from its arrival, when this is made.
class TracedCall {
 public:
  /// `collective`: as MPI names it, in lower case.
  TracedCall(CommState& state, const latecomer::Call& call);
  TracedCall(CommState& state, std::string_view collective, std::int64_t bytes, const void* site);
  /// On what was made of a communicator, by its id and the calls on it so far. There must be a
  /// trace, and `calls` must outlive this.
  TracedCall(std::uint32_t communicator, std::uint64_t& calls, std::string_view collective,
             std::int64_t bytes, const void* site);
  TracedCall(const TracedCall&) = delete;
  TracedCall& operator=(const TracedCall&) = delete;
  /// Without end() the program has left it by an exception.
  ~TracedCall();

  /// The exit. `algorithm`: the one that served it, with parameters as in "ring as=ring
  /// segments=4".
  void end(Served served, std::string_view algorithm = "native", std::string_view parameters = {});
  /// As end(), by what the state says of its last call.
  void end_as_recorded();
  /// MPI has refused the call: it has no place among the calls, since other ranks made no such one.
  void withdraw();

 private:
  void enter(std::uint32_t communicator);

  CommState* state_ = nullptr;  // null: not known
  std::uint64_t& calls_;        // on the communicator so far
  Call record_;
  std::string_view collective_;
  MPI_Op op_ = MPI_OP_NULL;
  const void* site_ = nullptr;
  Seconds slept_before_ = 0;
  bool is_inside_ = false;  // the file's status says so
};

}  // namespace latecomer::trace
