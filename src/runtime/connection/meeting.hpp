// A meeting: the ranks of a communicator tell each other something before they are linked, all of
// them or none. A rank that passes this library by does not come: it is noticed after a time,
// before anything is done together. No message goes on the program's communicators.
//
// Up a binomial tree each rank tells what it and those below it have, down again the result goes;
// up again goes whether each accepts it, and down the verdict. A rank that has accepted waits for
// the verdict however long that takes: those above it have been there. Any other one leaves after
// its patience, and by that the verdict is that the meeting failed.
#pragma once

#include <functional>
#include <vector>

#include "runtime/connection/identity.hpp"

namespace latecomer {

enum class Met : std::uint8_t {
  missed,    // some ranks did not come; those that waited meet nobody any more
  declined,  // a rank did not accept the result
  agreed,
};

struct Occasion {
  const Identity& identity;
  std::uint64_t number;  // of the meeting, among those of the communicator
  std::uint64_t about;   // a hash of what it is about; alike on all ranks
  Seconds patience;      // by how much ranks that come may leave the call before at other times
};

/// Bytes whose meaning the ranks know.
using Told = std::vector<char>;

/// `told`: this rank's part; if the ranks agreed, it becomes the result. `merge(all, theirs)` adds
/// other ranks' part. `accept(result)` is asked once, or not at all.
[[nodiscard]] Met meet(const Occasion& occasion, Told& told,
                       const std::function<void(Told& all, const Told& theirs)>& merge,
                       const std::function<bool(const Told& result)>& accept);

/// True if this process missed a rank: it comes to no further meeting, so that no rank waits twice.
[[nodiscard]] bool meets_no_more();

}  // namespace latecomer
