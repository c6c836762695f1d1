"""Checks the traces of worlds (evidence/worlds.py --traced) against what happened in them.

A world knows when each rank entered and left each call, and what every clock showed then. So its
trace must hold all calls, matched over the ranks as they were made, and no time may be further off
than the trace says that it is.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from latecomer.report.analysis.answer import answer
from latecomer.report.analysis.cut import analysed, without_first
from latecomer.report.analysis.lateness import analyse
from latecomer.report.trace.left_out import LeftOut
from latecomer.report.trace.model import Trace, TraceError
from latecomer.report.trace.native import files_of, read

WITHIN_S = 2e-6  # between the entry of a function and the time that it writes


@dataclass(frozen=True)
class TrueCall:
    """A call of a rank, on the clock of rank 0 in seconds."""

    step: int
    name: str
    communicator: int
    enter: float
    exit: float


@dataclass(frozen=True)
class Told:
    """A call of a rank as the trace has it."""

    name: str
    group: int
    call: int
    enter: float
    exit: float


def true_calls(truth: dict) -> list[list[TrueCall]]:
    """The calls of each rank among several ranks, those of failed and of unended ones, too."""
    found: list[list[TrueCall]] = [[] for _ in range(truth["ranks"])]
    for rank, step, name, communicator, size, enter, leave, _ in truth["calls"]:
        if size > 1:
            left = leave * 1e-9 if leave >= 0 else float("inf")
            found[rank].append(TrueCall(step, name, communicator, enter * 1e-9, left))
    return found


def told_calls(trace: Trace, zero: float, ranks: int) -> list[list[Told]]:
    """The calls of each rank among several ranks in the order of their entries.

    `zero`: when the trace begins, on the clock of rank 0.
    """
    found: list[list[Told]] = [[] for _ in range(ranks)]
    for number, group in enumerate(trace.groups):
        arrival, leave = group.times()
        for call in range(len(group) if group.size > 1 else 0):
            name = trace.words[int(group.collective[call])]
            for place, rank in enumerate(group.members):
                enter, exited = arrival[call, place] + zero, leave[call, place] + zero
                if not np.isnan(enter):
                    found[rank].append(Told(name, number, call, float(enter), float(exited)))
    return [sorted(each, key=lambda call: call.enter) for each in found]


def faults_of(folder: Path, truth: dict) -> list[str]:
    """The faults of a world's trace."""
    faulty = truth["faulty"]  # calls, or files of ranks, may be missing
    if not any(folder.glob("rank-*.trace")):
        return [] if truth["said"] or faulty else ["no trace, and nobody says why"]
    try:
        files = files_of(folder, LeftOut())
        trace = read(folder)
        answer(analysed(trace))
    except TraceError as error:
        return [] if faulty else [f"refused: {error}"]
    if truth["wrong"]:  # calls that do not fit may tell anything
        return []
    faults = [] if faulty else [f"remark: {each}" for each in trace.remarks]
    if 0 not in files:
        return [] if faulty else [*faults, "no file of rank 0"]
    zero = trace.started - int(files[0].header["real"]) * 1e-9
    right = true_calls(truth)
    told = told_calls(trace, zero, len(right))
    steps: dict[tuple[int, int], set[tuple[int, int]]] = {}
    for rank, (own, own_told) in enumerate(zip(right, told, strict=True)):
        if faulty:
            off = [entry_apart(own, call) for call in own_told]
        elif len(own) == len(own_told):
            off = [apart(*pair) for pair in zip(own, own_told, strict=True)]
            for one, other in zip(own, own_told, strict=True):
                steps.setdefault((other.group, other.call), set()).add((one.step, one.communicator))
        else:
            faults.append(f"rank {rank}: {len(own_told)} calls of {len(own)}")
            continue
        error = float(trace.clock_error[rank]) + WITHIN_S
        worst = int(np.argmax(off)) if off else 0  # NaN, a time that is not known, counts as such
        if off and not off[worst] <= error:
            call = own_told[worst]
            faults.append(f"rank {rank}: {call.name} from {call.enter:.9f} to {call.exit:.9f} is "
                          f"off by {off[worst]:.3g} s, and not {error:.3g}")  # fmt: skip
    mixed = [sorted(each) for each in steps.values() if len(each) > 1]
    faults += [f"calls of several steps are one: {each}" for each in mixed[:1]]
    path = folder.with_suffix(".json")  # with the drop-in library
    return faults if faulty or not path.exists() else [*faults, *other_waits(path, trace)]


def other_waits(path: Path, trace: Trace) -> list[str]:
    """Where the summary of the job, which ranks make together as it ends, tells other waits.

    Each knows clocks with an error, by which waits may differ.
    """
    summary = json.loads(path.read_text())
    if summary["skipped_s"] is not None:
        trace = without_first(trace, 1)
    traced = analyse(trace)
    calls = sum(len(group) for group in trace.groups if group.size > 1)
    if (summary["told"], summary["unmatched"]) != (calls, 0):
        return [f"the summary tells of {summary['told']} calls, and not of {summary['unmatched']}; "
                f"the trace has {calls}"]  # fmt: skip
    error = summary["clock_error_s"] + float(np.nanmax(trace.clock_error))
    off = np.abs(np.array(summary["waited_s"]) - traced.ranks.waiting).max()
    most = 2 * error * calls + WITHIN_S
    return [f"waits of the summary are off by {off:.3g} s, and not {most:.3g}"] * (not off <= most)


def apart(right: TrueCall, told: Told) -> float:
    """By how many seconds the times of a call are off."""
    if right.name != told.name:
        return np.inf
    apart = abs(right.enter - told.enter), abs(right.exit - told.exit)
    return float(np.max(apart))


def entry_apart(right: list[TrueCall], told: Told) -> float:
    """By how many seconds the entry is off at least, where calls are missing."""
    return min((abs(own.enter - told.enter) for own in right if own.name == told.name),
               default=np.inf)  # fmt: skip


def check(folder: Path) -> list[str]:
    """The faults of all worlds whose traces are in the folder, each with its seed."""
    found = []
    for path in sorted(folder.glob("*.truth"), key=lambda path: int(path.stem)):
        faults = faults_of(path.with_suffix(""), json.loads(path.read_text()))
        found += [f"seed {path.stem}: {fault}" for fault in faults]
    return found
