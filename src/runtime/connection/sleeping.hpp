// When ranks that wait sleep, by LATECOMER_WAIT, and for how long this one has slept.
#pragma once

#include "transports/mpi/backoff.hpp"

namespace latecomer {

/// `oversubscribed`: this machine has more ranks than cores. A value of LATECOMER_WAIT that cannot
/// be read counts as not set, which is reported once a job.
[[nodiscard]] Sleeping sleeping_of_rank(bool oversubscribed);

/// Notes that this rank has slept for so many seconds while it waited for others. For all threads.
void note_slept(Seconds seconds);
/// The seconds so far.
[[nodiscard]] Seconds slept();

}  // namespace latecomer
