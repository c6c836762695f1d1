// Who is the origin of waiting: the waits of a traced job, charged to the computation that they
// come from (docs/decisions/0043-origin.md).
#pragma once

#include <cstdint>
#include <vector>

#include "lateness/traced_job.hpp"

namespace latecomer {

/// The cost of a rank for all others at a place: seconds that they wait because it computes longer
/// after its call there.
struct Charge {
  std::int64_t rank;
  std::int64_t place;
  Seconds seconds;
};

/// Sums over the job, in seconds; the vectors have one entry a rank.
struct Origins {
  std::vector<Charge> charges;
  std::vector<Seconds> direct;   // that others waited for each rank, whoever is the origin
  std::vector<Seconds> waiting;  // of each rank
  std::vector<Seconds> moving;   // of each rank: in calls, but not waiting
  Seconds order = 0;             // waiting that comes from nobody's longer computation
  std::int64_t waits = 0;        // calls in which a rank waited
};

/// Charges all waiting. Throws as check().
[[nodiscard]] Origins find_origins(const TracedJob& job);

}  // namespace latecomer
