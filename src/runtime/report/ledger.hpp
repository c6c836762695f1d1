// The statistics of all communicators of this process, told in MPI_Finalize where the environment
// variable LATECOMER_STATS asks for it.
#pragma once

#include "runtime/report/stats_report.hpp"

namespace latecomer {

struct CommState;

/// A communicator came, or is about to go.
void ledger_open(CommState& state);
void ledger_close(CommState& state);

}  // namespace latecomer
