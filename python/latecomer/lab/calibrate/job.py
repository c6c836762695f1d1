"""One run of the calibration program."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from ...base.busy import busy, crowded
from ...base.invocation import command_line, now
from ...base.output import elapsing, say
from ...core.compiled import __version__
from ...launch.mpi import short_library
from ...launch.processes import DEFAULT_DEADLINE_S
from ..bench.job import ELSEWHERE, scratch
from ..bench.places import INHERITED, LOCAL, Place
from ..options.choices import BenchError
from .fit import fit
from .measured import read
from .result import Result

_START_S = 5.0  # about, for the job to begin and to find the eager limit
_LEAST_ROUNDS = 7  # of the program
_ROUND_S, _ROUND_BYTES = 2.0, 24 << 22  # a round takes about that, and its bytes on a link


def calibrate(place: Place, seconds: float, deadline: float | None, keep: Path | None) -> Result:
    """Measure at a place for about so many seconds. Raises BenchError, SampleError."""
    remarks = busy(place.ranks if place.name == INHERITED else 0)
    with scratch() as folder:
        output = keep.absolute() if keep else folder / "samples"
        output.unlink(missing_ok=True)  # an earlier run's must not pass for this one's
        expected = _expected(place, seconds)
        say(f"measuring at {place.name}, {place.ranks} ranks, about {expected:.0f} s")
        limit = deadline or DEFAULT_DEADLINE_S + 5 * expected
        with elapsing("measuring", expected):
            code = place.run(_arguments(seconds, output), limit)
        if code:
            what = "the calibration program failed"
            raise BenchError(what, f"exit code {code}", "see its messages above")
        found = read(output)
    mpi = str(found.header["mpi"])
    if place.name == LOCAL:
        remarks += crowded(place.ranks, mpi)
    used = {
        "place": place.name,
        "ranks": place.ranks,
        "date": now(),
        "machine": f"{platform.node()}, {os.cpu_count()} cores, {platform.machine()}",
        "command": command_line(),
        "rounds": found.rounds,
        "version": __version__,
        "mpi": short_library(mpi),
        "mpi_library": mpi,
        "hosts": list(dict.fromkeys(found.header["hosts"])),
        **({"remarks": remarks} if remarks else {}),
    }
    return Result(fit(found), used)


def take_part(place: Place, seconds: float, deadline: float | None) -> int:
    """The part of a rank that does not start the others; the program's exit code."""
    return place.run(_arguments(seconds, ELSEWHERE), deadline)


def _expected(place: Place, seconds: float) -> float:
    rounds = _LEAST_ROUNDS * (_ROUND_S + _ROUND_BYTES * place.beta)
    return _START_S + max(seconds, rounds if place.beta else 0)


def _arguments(seconds: float, output: Path | str) -> list[str]:
    return ["--seconds", f"{seconds:g}", "--output", str(output)]
