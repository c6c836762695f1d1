// What is done about one call: the one place where the state of a communicator becomes what all
// ranks know alike.
#pragma once

#include "runtime/comm_state.hpp"

namespace latecomer {

struct Decision {
  Choice choice;        // native: the MPI library carries the call out
  Knowledge knowledge;  // to plan with
  bool tell = true;     // all ranks of the arrivals, where they are watched and the call does not
};

/// Who is expected when in the call that comes now; empty: all together, or nobody knows. Once for
/// every call that is handled: the watch must hear of all.
[[nodiscard]] std::vector<Seconds> expect_arrivals(CommState& state, const Problem& problem);
/// What is done about it, by one of the state's selectors where the choice is automatic. In
/// reproducible mode nothing but the problem and the library's version is known: no arrivals, the
/// built-in network, and of an automatic choice the best balanced program. Throws Error where no
/// candidate takes the problem.
[[nodiscard]] Decision decide(CommState& state, const Problem& problem,
                              std::vector<Seconds> arrivals, Selector& selector);
/// Another rank decides about the call that comes now.
void leave_decision(CommState& state, const Problem& problem);
/// What decide() would say now, as far as that is known without a call.
[[nodiscard]] Decision likely_decision(const CommState& state, Collective collective);

/// Whether a call's own messages tell all ranks of its arrivals.
[[nodiscard]] inline bool tells(const CommState& state, const Plan& plan) {
  return state.watch != nullptr && plan.telemetry;
}

/// A call is over and was told of: what is known now of it, or of the one before, corrects what
/// will be chosen.
void learn(CommState& state);

}  // namespace latecomer
