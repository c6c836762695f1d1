// Work that waits for the next call in which all ranks wait for each other.
#pragma once

#include "runtime/call/ending.hpp"
#include "runtime/call/request.hpp"

namespace latecomer {

/// Notes whether this rank passes memory of a device in the call.
void note_device_memory(CommState& state, const Call& call);
/// Notes that call number `calls` of those that all ranks decide about has begun: after some of
/// them ranks tell each other whether they pass memory of a device.
void note_decided(CommState& state, std::uint64_t calls);
/// True if all ranks wait for each other in the call, and know it.
[[nodiscard]] bool synchronises(const CommState& state, const Request& request);
/// Does what is due. All ranks have just been in a call in which they waited for each other, with
/// the given ending.
[[nodiscard]] Ending settle(CommState& state, Ending ending);

}  // namespace latecomer
