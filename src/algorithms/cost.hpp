// The cost of a plan when all ranks arrive together, and the time that follows by Hockney's model.
#pragma once

#include <vector>

#include "base/network.hpp"
#include "schedule/problem.hpp"

namespace latecomer {

/// The components of a call's time. Tests compare each count with the time that the program takes
/// longer on a virtual network where this component is dearer.
struct Cost {
  Count rounds = 0;     // transfers that follow each other: start-ups
  Count sent = 0;       // elements of these transfers
  Count combined = 0;   // at most so many elements combined in between, hidden by no transfer
  Count exchanged = 0;  // the part of `sent` that two ranks send each other at once
  bool paced = false;   // short messages wait for their receivers as long ones do
};

/// Seconds by Hockney's model (Parallel Computing 20, 1994): the rounds, with messages of equal
/// length, and the combining.
[[nodiscard]] Seconds hockney_time(const Problem& problem, const Cost& cost,
                                   const Network& network);

/// The cost of one after the other.
[[nodiscard]] inline Cost operator+(const Cost& first, const Cost& then) {
  return {first.rounds + then.rounds, first.sent + then.sent, first.combined + then.combined,
          first.exchanged + then.exchanged, first.paced || then.paced};
}

/// The mean exit minus the last arrival, seconds; one entry a rank, in any order.
[[nodiscard]] Seconds mean_exit_after_last(const std::vector<Seconds>& exits,
                                           const std::vector<Seconds>& arrivals);

}  // namespace latecomer
