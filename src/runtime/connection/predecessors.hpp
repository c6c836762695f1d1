// Communicators of the same ranks, one after the other: a freed one leaves its link, and what its
// ranks learned about calls, to the next one. Nothing is exchanged for that when it is freed. Ranks
// free in orders of their own, so each offers what it has, and a reduction shows whether all offer
// the same.
#pragma once

#include <memory>

#include "runtime/comm_state.hpp"

namespace latecomer {

/// When the state goes, if nothing failed. False: nothing was left, and the link is still the
/// state's.
bool leave_to_successor(CommState& state);

/// What the state's communicator could take over. It is set aside for it meanwhile.
class Inheritance {
 public:
  enum class Of : std::uint8_t {
    everything,  // of a communicator with the same policy
    resources,   // of any, and when its ranks arrived
  };

  /// There is nothing where the state has learned something, or has a link.
  Inheritance(CommState& state, Of what);
  /// Gives back what was not accepted.
  ~Inheritance();
  Inheritance(const Inheritance&) = delete;
  Inheritance& operator=(const Inheritance&) = delete;

  /// 0: there is nothing.
  [[nodiscard]] StateHash state_hash() const;
  /// All ranks have offered this lineage.
  void accept();

 private:
  CommState& state_;
  Of what_;
  std::unique_ptr<struct Predecessor> predecessor_;
};

/// Collective: a link is taken over if all ranks have the same one.
void take_over_resources(CommState& state);

/// What was left is given up.
void forget_predecessors();
/// When MPI ends: also what would be left from now on.
void end_predecessors();

}  // namespace latecomer
