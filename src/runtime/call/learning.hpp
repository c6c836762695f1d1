// After a call: the ranks tell each other when they came and left, and review their last calls;
// and work that waits for the next call in which all ranks wait for each other.
#pragma once

#include "runtime/call/request.hpp"

namespace latecomer {

/// Learns from a watched call, and refreshes the clocks if that is due: all ranks have just been in
/// the call.
[[nodiscard]] Outcome note_arrivals(CommState& state);
/// After a call whose messages carried no stamps: exchanges arrivals, if that was decided.
[[nodiscard]] Outcome exchange_afterwards(CommState& state, bool exchange, const Entry& entry);
/// After the last call of a block: learns what ranks have told of the block before, for which it
/// waits if need be, and tells of this one without waiting.
[[nodiscard]] Ending end_block(CommState& state, Ending ending);
/// Reviews the last calls of a class that is only watched: all ranks have just been in one, with
/// the given ending. Before the first review a predecessor's knowledge may be taken over instead.
[[nodiscard]] Ending review_watched(CommState& state, const Problem& problem, Ending ending);
/// Reviews the calls of a class now, or, if ranks may leave such a call before others enter it,
/// after the next one in which all wait.
[[nodiscard]] Ending review_in_time(CommState& state, const Problem& problem, Ending ending);
/// Reviews the last calls of an active class. A rank that failed is not waited for.
[[nodiscard]] Ending review_decided(CommState& state, const Problem& problem, Ending ending);

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
