// Collects the statistics of all communicators of this process, and reports them in MPI_Finalize if
// the environment variable LATECOMER_STATS asks for it.
#pragma once

#include "runtime/report/job_summary.hpp"
#include "runtime/report/stats_report.hpp"

namespace latecomer {

struct CommState;

/// Adds a communicator, or removes one that is about to be freed.
void ledger_open(CommState& state);
void ledger_close(CommState& state);

/// The summary of the job is printed even if the environment asks for no report. Before the first
/// communicator is used.
void want_sentence();
/// True if there is a report; then all communicators are in it.
[[nodiscard]] bool ledger_is_kept();
/// This rank's calls so far.
[[nodiscard]] RankTotals ledger_totals();
/// Puts the summary of the job before the report.
void ledger_add(const JobSummary& job);

}  // namespace latecomer
