"""`latecomer atlas`: record the arrivals of a program, without any names, and show them."""

from __future__ import annotations

import os
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ..base.invocation import called
from ..base.output import print_json, say
from ..command.declare import Seconds, UsageError, argument
from .options import Json, option, refuse
from .run import launcher_of

if TYPE_CHECKING:
    from ..atlas.file import Arrivals

_OUTPUT = "arrivals.parquet"

Source = Annotated[
    list[str],
    argument("SOURCE...", "The folder of a trace; or, behind --, a launcher (mpirun, mpiexec, "
             "srun) and its arguments."),
]  # fmt: skip
Name = Annotated[
    str | None,
    option("--name", "NAME", "Write this name of the program into the file, for all to read. By "
           "default there is none."),
]  # fmt: skip
Output = Annotated[
    Path | None,
    option("--output", "FILE", "It is a Parquet file. The default is NAME, or 'arrivals', and "
    ".parquet."),
]  # fmt: skip
Deadline = Annotated[Seconds | None, option("--deadline", "TIME", "None by default.")]
Files = Annotated[list[Path], argument("FILE...", "Files that `latecomer atlas record` wrote.")]
Network = Annotated[
    str,
    option("--network", "COSTS", "What could be saved is told for them. By default the network "
    "costs nothing, and all time after the last arrival could be saved."),
]  # fmt: skip


def record(
    source: Source, name: Name = None, output: Output = None, deadline: Deadline = None
) -> int:
    """Write the arrivals of a program to a file that can be published: no host, path or date.

    The program runs unchanged, as with latecomer run --observe; or an existing trace is read. The
    file holds how late each rank came to each collective, how long the call took from then on, its
    size, and numbers in place of communicators and places: the middle 2000 calls if there are more.
    Look into docs/atlas.md for the columns. Parquet needs pyarrow. The exit code is that of the
    program; if that is not 0, nothing is written.

    Example: latecomer atlas record --name cg -- mpirun -n 4 ./cg 60 60 20
    """
    from ..atlas import file
    from ..base.whole_files import check_file
    from ..launch.mpi import is_launcher
    from ..report.trace import read
    from ..report.trace.recorded import recorded

    file.needed()
    if name is not None:
        file.check_name("--name", name)
    output = output or Path(f"{name.replace(' ', '-')}.parquet" if name else _OUTPUT)
    check_file("--output", output)
    if Path(source[0]).is_dir():
        if len(source) > 1:
            raise UsageError(f"'{source[1]}' behind the folder; right would be the folder alone")
        refuse("a folder of a trace needs no run", {"--deadline": deadline})
        trace = read(source[0])
        for remark in trace.remarks:
            say(remark)
        _write(recorded(trace, name or ""), output)
        return 0
    if len(source) == 1 and not is_launcher(source[0]) and not Path(source[0]).exists():
        raise UsageError(f"'{source[0]}' is neither a folder nor a launcher; right would be the "
                         f"folder of a trace, or as in '{called()} atlas record -- mpirun -n 4 "
                         "./app'")  # fmt: skip
    command = launcher_of(source, "atlas record")
    # Beside the output: a folder that the ranks of all hosts see.
    with tempfile.TemporaryDirectory(prefix=".latecomer-", dir=output.absolute().parent) as folder:
        cores, load = len(os.sched_getaffinity(0)), os.getloadavg()[0]
        code = _run(command, Path(folder), deadline)
        if code == 0:
            _write(recorded(read(folder), name or "", cores, load), output)
    return code


def _run(command: list[str], folder: Path, deadline: float | None) -> int:
    """The program's exit code. Raises UsageError where nothing was traced."""
    from ..launch.dropin import Wishes, run_once
    from ..report.trace.native import is_folder_of_trace

    wishes = Wishes(observe=True, trace=folder, messages=False)
    ended = run_once(command, wishes, off=False, deadline=deadline)
    if ended.code:
        say(f"{command[0]} ended with {ended.code}: no arrivals were written")
    elif not is_folder_of_trace(folder):
        why = ended.why or "no rank had the library"
        raise UsageError(f"nothing was traced: {why}; latecomer run --observe says more")
    return ended.code


def _write(found: Arrivals, output: Path) -> None:
    from ..atlas.file import write

    write(found, output)
    about = found.about
    say(f"wrote {output}: {len(found)} of {about.calls} calls of {about.ranks} ranks")


def show(files: Files, network: Network = "", as_json: Json = False) -> int:
    """Show what recorded programs' arrivals are like, a line for each file.

    late: from the first arrival to the last, the median call's. late/transfer: the same by the
    time from the last arrival to the last exit; median, and 90th percentile. same last: calls whose
    last rank was the last one in the call before at that place. foretold: the part of the lateness
    that the library's forecast would have foreseen. savable: the part of the ranks' time that the
    best algorithm could save at most, on the network of --network.

    Example: latecomer atlas show cg.parquet
    """
    from ..atlas import figures, file
    from ..core.networks import chosen

    costs = chosen(network).text if network else ""
    found = [figures.figures(file.read(path), path.stem, costs) for path in files]
    if as_json:
        print_json({"programs": [asdict(each) for each in found]})
        return 0
    rows = [figures.HEAD, *map(figures.cells, found)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for first, *rest in rows:
        print("  ".join([first.ljust(widths[0]), *map(str.rjust, rest, widths[1:])]))
    return 0
