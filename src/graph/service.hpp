// The order in which ports, memory and flags serve activities: first come, first served, as on the
// virtual network, found by a queue of events.
#pragma once

#include "graph/activities.hpp"

namespace latecomer {

struct Service {
  /// One activity, in its turn.
  struct Served {
    Node node = 0;
    Moment after[2] = {kNone, kNone};  // it also waited for these, which its port or flag served
    double bytes = 0;                  // that it takes time for
    bool exchanges = false;            // a message that meets another one
    bool copies = false;               // an accumulate that is the first one on its flag
    bool notifies = false;             // a notice that goes to another rank
  };
  std::vector<Served> served;  // in the order of their begin
  std::vector<Seconds> exits;  // by rank; infinity: never
};

/// For these arrivals (seconds, one a rank, from 0 up) and costs, without jitter.
[[nodiscard]] Service serve(const Activities& all, std::span<const Seconds> arrivals,
                            const Network& network);

}  // namespace latecomer
