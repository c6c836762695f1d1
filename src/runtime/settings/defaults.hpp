// How communicators begin. Programs written for latecomer set each communicator; for others a
// drop-in library sets this once, alike on all ranks, before the first communicator is used.
#pragma once

#include <cstddef>

#include "choose/policy.hpp"
#include "transports/mpi/mpi.hpp"

namespace latecomer {

struct Defaults {
  Policy policy;
  /// Nothing but the program's own calls in calls that some ranks may leave before others enter:
  /// the ranks are linked, and reviews are made, in their next call that all wait in.
  bool waits_for_synchronising_calls = false;
  /// True for communicators whose calls are all the MPI library's; null: for none.
  bool (*leaves_alone)(MPI_Comm comm) = nullptr;
  /// Communicators at a time that may have a state; further ones have no calls that are known.
  std::size_t most_states = ~std::size_t{0};
};

[[nodiscard]] inline Defaults& defaults() {
  static auto& made = *new Defaults;  // communicators may be used after static objects
  return made;
}

}  // namespace latecomer
