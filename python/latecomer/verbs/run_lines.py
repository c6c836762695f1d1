"""The lines that `latecomer run` ends with."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..base.invocation import called
from ..base.variables import variable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..launch.dropin import Ended, Wishes
    from ..report.analysis.answer import Answer


def closing_lines(
    command: list[str], ended: Ended, answer: Answer | None, wishes: Wishes
) -> list[str]:
    """The lines that a run ends with: who is late, or why that is not known, and what was done."""
    lines = answer.lines() if answer else []
    if not (job := ended.summary):
        return [*lines, why_inactive(command, ended)]
    if wishes.verbose or wishes.variables().get("LATECOMER_WAIT"):
        from ..report.analysis.wording import freed

        lines.append(f"freed: {freed(job['slept_s'] * job['ranks'])}")
    if not wishes.verbose:
        return lines
    lines += [f"active on all {job['ranks']} ranks", _calls(job)]
    return [*lines, _saved(job)] if job["calls"]["handled"] else lines


def kept(trace: Path | None) -> str:
    """Tell what there is of a job that did not come to its end."""
    from ..report.trace.native import is_folder_of_trace

    if trace and is_folder_of_trace(trace):
        return f"{called()} report {shlex.quote(str(trace))} reads the calls before that"
    if trace:
        return "no call was traced before that"
    return "with --trace FOLDER the calls before that are kept"


def why_inactive(command: list[str], ended: Ended) -> str:
    """The reason why a run has no summary, and what there is of it in the folder of its trace."""
    from ..report.trace.native import is_folder_of_trace

    launcher, trace = Path(command[0]).name, ended.trace
    if ended.why:
        return f"the library was inactive: {ended.why}"
    if ended.begun:
        return (
            f"{launcher} ended with {ended.code} before all ranks were in MPI_Finalize, where they "
            f"tell each other who was late; {kept(trace)}"
        )
    if trace and is_folder_of_trace(trace):
        return (
            f"{launcher} ended with {ended.code}, and rank 0 has told nothing here, as if its "
            f"machine did not see this folder: {called()} report {shlex.quote(str(trace))} "
            "reads what ranks have traced"
        )
    if ended.code:
        return f"{launcher} ended with {ended.code} before any rank began MPI; see above"
    if variable("LATECOMER") == "off":
        return "LATECOMER=off is set: the library does nothing then"
    return (
        "no rank had the library: the program is no MPI program or has MPI linked in statically, "
        "something between the launcher and the program drops LD_PRELOAD, or rank 0 runs on a "
        "machine whose files are not seen here"
    )


def _calls(job: Mapping[str, Any]) -> str:
    counted = {name: n for name, n in job["calls"].items() if n and name != "before_arrival"}
    text = ", ".join(f"{n} {name}" for name, n in counted.items()) or "none"
    return f"calls of all ranks: {text}; short ones left to the MPI library: {job['short_calls']}"


def _saved(job: Mapping[str, Any]) -> str:
    handled, estimated = job["calls"]["handled"], job["estimated_calls"]
    if job["saved_s"] is None:
        return (
            "no estimate of the time that handled calls saved: the MPI library carried out too few "
            "calls like them; --compare measures it"
        )
    saved, range_s = job["saved_s"], job["saved_range_s"]
    text = f"{estimated} of {handled} handled calls {'lost' if saved < 0 else 'saved'} an estimated"
    sure = f"saved: {saved - range_s:.3g} to {saved + range_s:.3g} s"
    text += f" {abs(saved):.3g} s a rank ({sure})"
    rest = f"; no estimate for the other {handled - estimated}" if estimated < handled else ""
    return f"{text}{rest}; --compare measures it"
