// Runs a protocol on a communicator's resources until it is done or fails.
#pragma once

#include "protocol/protocol.hpp"
#include "runtime/call/stall_monitor.hpp"

namespace latecomer {

struct Outcome {
  int code = MPI_SUCCESS;
  std::string why;  // the reason of a failure
};

/// `before`: the protocol was started earlier, and only arrives.
enum class Begun : std::uint8_t { now, before };

[[nodiscard]] Outcome run(Protocol& protocol, CommResources& resources, const WaitOptions& options,
                          Begun begun = Begun::now);

/// The outcome of a protocol that failed.
[[nodiscard]] Outcome failure_of(const Protocol& protocol, const CommResources& resources);

/// The error class of "ranks follow different plans" and of failures that another rank reported.
[[nodiscard]] int disagreement_class();

}  // namespace latecomer
