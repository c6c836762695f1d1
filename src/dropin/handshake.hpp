// Finds out whether all ranks have the drop-in library, before anything is done together.
//
// The ranks meet (agreement/meeting_rank.hpp) by messages on MPI_COMM_WORLD, since a rank without
// the library makes no communicator and comes to no collective. Such a rank gets a short message of
// each rank below it in the tree, with the largest tag there is. Only a program that receives any
// tag from any rank could see it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/types.hpp"

namespace latecomer {

/// A setting that must be equal on all ranks.
struct SharedSetting {
  std::string name;
  std::uint64_t hash;
};
inline constexpr std::size_t kMaxSharedSettings = 12;

struct Answer {
  bool all = false;     // all ranks have the library, with equal settings
  std::string problem;  // if not: a text on the one rank that should report it, else ""
};

/// Collective over those ranks of MPI_COMM_WORLD that have the library. The numbers of settings are
/// equal in equal versions, and their first one is the version. `patience`: seconds to wait for a
/// rank that follows directly.
[[nodiscard]] Answer shake_hands(const std::vector<SharedSetting>& settings, Seconds patience);

/// Receives the messages of ranks that came when this one had given up: MPICH ends programs that
/// leave any. In MPI_Finalize.
void drop_greetings();

}  // namespace latecomer
