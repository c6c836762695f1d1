// When ranks that wait sleep, by LATECOMER_WAIT, and for how long this one has slept.
#pragma once

#include "transports/mpi/backoff.hpp"
#include "transports/mpi/mpi.hpp"

namespace latecomer {

/// `oversubscribed`: this machine has more ranks than cores. A value of LATECOMER_WAIT that cannot
/// be read counts as not set, which is reported once a job.
[[nodiscard]] Sleeping sleeping_of_rank(bool oversubscribed);

/// True if ranks are to sleep on cores of their own, too.
[[nodiscard]] bool asked_to_sleep();

/// MPI_Wait without a status, asleep, for an operation of a communicator. Returns MPI's code.
int wait_asleep(MPI_Request& request, MPI_Comm comm);

/// Notes that this thread has slept for so many seconds while it waited for other ranks.
void note_slept(Seconds seconds);
/// The seconds so far, of all threads and of this one.
[[nodiscard]] Seconds slept();
[[nodiscard]] Seconds slept_by_thread();

}  // namespace latecomer
