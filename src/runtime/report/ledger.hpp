// Collects the statistics of all communicators of this process, and writes them to a file where the
// environment variable LATECOMER_STATS asks for it.
#pragma once

#include <string>

#include "base/types.hpp"
#include "runtime/report/job_summary.hpp"
#include "runtime/report/stats_report.hpp"

namespace latecomer {

// The file for statistics. Users with write access to its folder can neither redirect it nor see an
// incomplete file.

/// Expands a pattern (base/files.hpp).
[[nodiscard]] std::string stats_file_name(const std::string& pattern, Rank rank);

/// True if the pattern gives each rank a file of its own.
[[nodiscard]] bool is_of_each_rank(const std::string& pattern);

/// Writes a new file and moves it to `name`. Returns the reason of a failure; empty: none. An
/// existing `name` must be a regular file, not a symbolic link or a device.
[[nodiscard]] std::string write_stats_file(const std::string& name, const std::string& text);

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
