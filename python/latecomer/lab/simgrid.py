"""Schedules as SimGrid actors, on any SimGrid platform: when each rank leaves.

The program latecomer_simgrid runs one call: SimGrid's engine can be started once in a process.
"""

from __future__ import annotations

import json
import operator
import re
import subprocess
import tempfile
from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..base.clone import BUILD
from ..base.errors import DeadlineError, UserError
from ..launch import processes
from ..launch.program import find_built

if TYPE_CHECKING:  # `latecomer doctor` looks for the program where there is no compiled core
    from numpy.typing import ArrayLike

    from ..core.simulation import Simulation

PROGRAM = "latecomer_simgrid"
REMEDY = f"apt-get install libsimgrid-dev, then {BUILD}"

# Settings that bring SimGrid closest to alpha and beta: no factors for TCP, no share of the reverse
# direction for acknowledgements, no window.
PLAIN = ("network/model:CM02", "network/crosstraffic:0", "network/TCP-gamma:0")

_REFUSED = re.compile(r"^latecomer_simgrid: (.*?): '(.*)' is not usable; right would be (.*)$")
_WHERE = re.compile(r"^\[.*?\] .*?\[.*?\] ")  # in front of SimGrid's messages


class SimGridError(UserError):
    """SimGrid is not there, or cannot use its input."""


def find() -> Path | None:
    """The program, in a folder of $LATECOMER_PROGRAMS or as the clone built it."""
    return find_built(PROGRAM)


def simulate(
    algorithm: str,
    *,
    platform: Path,
    arrivals: ArrayLike | None = None,
    estimate: ArrayLike | None = None,
    network: str = "",
    per_node: int = 1,
    placement: Sequence[int] | None = None,
    config: Sequence[str] = (),
    check: bool = False,
    deadline: float = processes.DEFAULT_DEADLINE_S,
    **asked: Any,
) -> Simulation:
    """Run `algorithm` as SimGrid actors, by the code that also runs it over MPI.

    `platform` is SimGrid's XML; `per_node` ranks at a time go to its hosts, as it lists them, or
    each rank to the host that `placement` counts for it. Ranks of a host share its memory.
    `config` holds SimGrid's own settings, as in "network/model:CM02" (PLAIN: closest to alpha and
    beta). `network` is planned for; of it gamma, the eager limit, local_alpha, local_beta and
    memory are simulated, the rest is the platform's. `check` computes with real elements, too. The
    other arguments are those of `latecomer.simulate`; `deadline` is in seconds of real
    time. The trace is empty.

    Raises ValueError, SimGridError (no SimGrid, a platform that cannot be used, too few hosts),
    DeadlineError, and RuntimeError if a rank gets stuck or `check` finds wrong elements.
    """
    from ..core.programs import make_plan, problem, seconds

    times, known = seconds(arrivals), seconds(arrivals if estimate is None else estimate)
    # Planned here only for its errors: the program plans again, in its own process.
    plan = make_plan(problem(**asked), algorithm, known, network, placement)
    _check_times(times, plan.ranks)
    what = plan.problem
    words = [
        *("--platform", str(platform), "--algorithm", algorithm, "--network", network),
        *("--collective", what.collective, "--root", str(what.root)),
        *("--ranks", str(what.ranks), "--count", str(what.count)),
        *("--element-bytes", str(what.element_bytes)),
        *(["--parts", ",".join(map(str, what.parts))] if what.parts else []),
        *("--per-node", str(operator.index(per_node))),
        *(["--placement", ",".join(map(str, placement))] if placement else []),
        *([] if what.commutative else ["--non-commutative"]),
        *(["--exact"] if what.exact else []),
        *(["--in-place"] if what.in_place else []),
        *(["--check"] if check else []),
        *(f"--cfg={setting}" for setting in config),
    ]
    return _simulation(_run(words, {"--arrivals": times, "--estimate": known}, deadline))


def _check_times(times: Sequence[float], ranks: int) -> None:
    """The program reads no others."""
    for time in times:
        if not isfinite(time) or time < 0:
            raise ValueError(f"arrivals: {time} is not usable; right would be seconds, 0 or more")
    if times and len(times) != ranks:
        raise ValueError(
            f"arrivals: {len(times)} times are not usable; right would be one for each of "
            f"{ranks} ranks"
        )


def _run(
    words: Sequence[str], times: dict[str, Sequence[float]], deadline: float
) -> dict[str, Any]:
    """Run the program and return its output. Times go to it in files, with all digits."""
    program = find()
    if program is None:
        raise SimGridError("the SimGrid program is not built", PROGRAM, REMEDY)
    with tempfile.TemporaryDirectory(prefix="latecomer-") as folder:
        command = [str(program), *words]
        for name, values in times.items():
            file = Path(folder, name.strip("-"))
            file.write_text(" ".join(repr(float(value)) for value in values))
            command += [name, str(file)]
        try:
            done = processes.finished(command, deadline)
        except subprocess.TimeoutExpired:
            what = f"still running after {deadline:g} s and killed"
            raise DeadlineError(what, PROGRAM, "allow more time") from None
        except OSError as error:
            what = f"cannot start the SimGrid program ({error.strerror})"
            raise SimGridError(what, program, REMEDY) from None
    if done.returncode != 0:
        raise _refusal(done.returncode, done.stderr)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _refusal(code: int, stderr: str) -> SimGridError:
    """The program's own words; where SimGrid ended the process, its first message."""
    lines = [line for line in stderr.splitlines() if line and "/INFO]" not in line]
    for line in lines:
        if found := _REFUSED.match(line):
            what, value, remedy = found.groups()
            return SimGridError(what.removeprefix("--"), value, f"right would be {remedy}")
    code = processes.exit_code(code)
    said = _WHERE.sub("", lines[0]) if lines else "nothing"
    return SimGridError(f"SimGrid ended with exit code {code}", said, "see what SimGrid says")


def _simulation(found: dict[str, Any]) -> Simulation:
    import numpy as np

    from ..core.simulation import Simulation

    if found["failure"]:
        raise RuntimeError(found["failure"])
    if found["wrong"]:
        raise RuntimeError(f"{found['wrong']} elements of the result are wrong")
    return Simulation(np.array(found["arrivals"]), np.array(found["exits"]), [])
