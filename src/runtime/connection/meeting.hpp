// A meeting: the ranks of a communicator tell each other something before they are linked, all of
// them or none. A rank that passes this library by does not come: it is noticed after a time,
// before anything is done together (agreement/meeting_rank.hpp). No message goes on the program's
// communicators.
#pragma once

#include <functional>

#include "agreement/meeting_rank.hpp"
#include "runtime/connection/identity.hpp"

namespace latecomer {

struct Occasion {
  const Identity& identity;
  std::uint64_t number;  // of the meeting, among those of the communicator
  std::uint64_t about;   // a hash of what it is about; alike on all ranks
  Seconds patience;      // by how much ranks that come may leave the call before at other times
};

/// `told`: this rank's part; if the ranks agreed, it becomes the result. `merge(all, theirs)` adds
/// other ranks' part. `accept(result)` is asked once, or not at all.
[[nodiscard]] Met meet(const Occasion& occasion, Told& told, MeetingRank::Merge merge,
                       const std::function<bool(const Told& result)>& accept);

/// True if this process missed a rank: it comes to no further meeting, so that no rank waits twice.
[[nodiscard]] bool meets_no_more();

}  // namespace latecomer
