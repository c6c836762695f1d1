// Collects the statistics of all communicators of this process, and reports them in MPI_Finalize if
// the environment variable LATECOMER_STATS asks for it.
#pragma once

#include "runtime/report/stats_report.hpp"

namespace latecomer {

struct CommState;

/// Adds a communicator, or removes one that is about to be freed.
void ledger_open(CommState& state);
void ledger_close(CommState& state);

}  // namespace latecomer
