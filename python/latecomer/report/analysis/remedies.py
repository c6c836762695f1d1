"""What to do about each finding: for the report's box, the end of a run, and the how-to's table.

The table of docs/howto/who-is-late.md is these texts; a test compares them.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Remedy:
    """A row of the how-to's table, and the command that comes next."""

    finding: str  # the report says
    means: str  # it is
    do: str  # do
    command: str  # a verb and options of latecomer; {folder}, {traces} and {run} are filled in
    many: str = ""  # what to do about certain ranks; {hosts} or {ranks} is filled in


LOOK = "latecomer report {folder} --perfetto calls.json"  # where the program is not MPI's
COMPARE = "latecomer run --compare -- {run}"
TRACE = "latecomer run --trace {traces} -- {run}"
REPORT = "latecomer report {folder}"
OBSERVE = "latecomer run --observe -- {run}"
AFTER = {"compare": TRACE, "trace": REPORT}  # instead of COMPARE: the command that was just given

REMEDIES = {
    "rank": Remedy(
        "one rank, or a few, cost the others most of the waiting",
        "a rank with more work, or a slow place to run",
        "look at its host: clock rate, other processes, temperature; else give it less work",
        COMPARE,
        "look at their {hosts}: clock rate, other processes, temperature; else give them less work",
    ),
    "unmeasured": Remedy(
        "the same, and why was not measured",
        "work, sleep, or a lack of processors",
        "see which of these, by a run that measures it",
        OBSERVE,
    ),
    "host": Remedy(
        "the ranks of one host cost the others most of the waiting",
        "a slow host",
        "look at that host: clock rate, other processes, temperature; else leave it out",
        COMPARE,
    ),
    "preempted": Remedy(
        "ranks are late because others have their processor",
        "too many ranks, threads or processes for the cores of a host, or ranks bound to one core",
        "give each rank a core of its own: fewer ranks or threads on a host, or bind them to "
        "other cores",
        COMPARE,
    ),
    "blocked": Remedy(
        "ranks are late because they sleep, or wait outside of MPI",
        "a disk, memory from swap, a device, a lock, or another process",
        "find out what is waited for, as by strace -c -w -f",
        COMPARE,
    ),
    "few": Remedy(
        "a rank came late in a few calls only",
        "a single event, or chance",
        "see whether it is late again in a longer run",
        TRACE,
    ),
    "spread": Remedy(
        "much waiting, nobody in particular is late",
        "noise, or work that changes from step to step",
        "make fewer and longer steps; see whether algorithms that need no forecast help",
        COMPARE,
    ),
    "place": Remedy(
        "much waiting, nobody in particular is late, most of it from one place in the program",
        "work there that is uneven, now on one rank and now on another",
        "share out the work there more evenly, or wait for the others later than right after it",
        COMPARE,
    ),
    "moving": Remedy(
        "little waiting, much moving",
        "the network, or the algorithm",
        "see whether another algorithm is faster",
        COMPARE,
    ),
    "files": Remedy(
        "little waiting, much time in files",
        "the file system, or many small parts",
        "read and write less often, in larger parts",
        LOOK,
    ),
    "messages": Remedy(
        "nobody is named, much time in messages, windows and files",
        "waiting there, or the network",
        "see for whom they wait there",
        TRACE,
    ),
    "little": Remedy(
        "little of both",
        "something outside of the collectives that were measured",
        "use a profiler of the program itself",
        LOOK,
    ),
    "hang": Remedy(
        "ranks have not come to a call",
        "a rank that hangs, has ended, or waits for something else",
        "look at these ranks, by the job's output and a debugger",
        "",
        "look at {ranks}, by the job's output and a debugger",
    ),
    "early": Remedy(
        "nobody in particular is late, and ranks did not reach MPI_Finalize",
        "a crash, an exit or a kill; or the job still runs",
        "find out why these ranks ended",
        "",
        "find out why {ranks} ended",
    ),
    "unclear": Remedy(
        "nobody is named, because clocks differ by more than the lateness",
        "not to be told from this run",
        "trace a longer run",
        TRACE,
    ),
    "unseen": Remedy(
        "nobody is named, because ranks are in calls that the trace does not tell enough of",
        "waiting in locks, one rank's files, calls between groups, or between tests in vain",
        "look at these calls with a profiler",
        LOOK,
    ),
    "short": Remedy(
        "nobody is named, because the files were full before most of the run",
        "more calls or messages than files have room for",
        "set LATECOMER_TRACE_BYTES to more, or trace fewer steps",
        TRACE,
    ),
    "lacking": Remedy(
        "nobody is named, because files of ranks are missing and most calls cannot be used",
        "a folder that is not complete",
        "bring together the files of all ranks",
        TRACE,
    ),
    "odd": Remedy(
        "nobody is named: all ranks told their calls, but most are not known on all their ranks",
        "files that do not go together, as the remarks say",
        "read the remarks: bring together files of one run and the same steps",
        TRACE,
    ),
}
