// Successive communicators of the same ranks: a freed one leaves its resources, and its ranks'
// knowledge of calls, to the next one. Freeing begins no messages. Each rank frees communicators
// in an order of its own, so each offers the one that it has, and a reduction shows whether all
// offer the same.
#pragma once

#include <memory>

#include "runtime/comm_state.hpp"

namespace latecomer {

/// Leaves the state's resources and knowledge to a later communicator, if nothing failed. Returns
/// false if nothing was left, and the state still has its resources.
bool leave_to_successor(CommState& state);

/// The predecessor that the state's communicator could take over. It is reserved meanwhile.
class Inheritance {
 public:
  enum class Of : std::uint8_t {
    everything,  // from a communicator with the same policy
    resources,   // from any, with the history of arrivals
  };

  /// Finds a predecessor. There is none if the state has learned something, or has resources.
  Inheritance(CommState& state, Of what);
  /// Gives a predecessor back that was not accepted.
  ~Inheritance();
  Inheritance(const Inheritance&) = delete;
  Inheritance& operator=(const Inheritance&) = delete;

  /// The predecessor's state hash; 0: there is none.
  [[nodiscard]] StateHash state_hash() const;
  /// Takes the predecessor over: all ranks have offered this state hash.
  void accept();

 private:
  CommState& state_;
  Of what_;
  std::unique_ptr<struct Predecessor> predecessor_;
};

/// Collective: takes over a predecessor's resources if all ranks have the same ones.
void take_over_resources(CommState& state);

/// Drops all predecessors.
void forget_predecessors();
/// As forget_predecessors(), for the end of MPI: from now on nothing is left to later
/// communicators.
void end_predecessors();

}  // namespace latecomer
