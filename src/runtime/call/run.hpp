// Carries a protocol through on a communicator's link until it is done or fails.
#pragma once

#include "protocol/protocol.hpp"
#include "runtime/call/stall_monitor.hpp"

namespace latecomer {

struct Outcome {
  int code = MPI_SUCCESS;
  std::string why;  // of a failure
};

/// Whether the protocol was started before: then it only arrives.
enum class Begun : std::uint8_t { now, before };

[[nodiscard]] Outcome run(Protocol& protocol, CommResources& resources, const WaitOptions& options,
                          Begun begun = Begun::now);

/// Why a protocol failed on the link.
[[nodiscard]] Outcome failure_of(const Protocol& protocol, const CommResources& resources);

/// The error class of "ranks follow different plans" and of a failure that another rank told of.
[[nodiscard]] int disagreement_class();

}  // namespace latecomer
