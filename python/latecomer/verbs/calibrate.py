"""`latecomer calibrate`: what messages and combining cost here, as the default network."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .bench import Deadline, Mpi, Network, Nodes, PerNode, Rate, be_quiet
from .options import Json, option

_SHORTEST_S, _LONGEST_S = 1, 86400

Seconds = Annotated[
    str, option("--seconds", "TIME", "About how long to measure, 1s to 1 day (86400s).")
]
Save = Annotated[
    Path | None,
    option("--save", "FILE", "Save the network here; default: where bench and simulate look for "
           "it, latecomer/network in $XDG_CONFIG_HOME or ~/.config."),
]  # fmt: skip
NoSave = Annotated[bool, typer.Option("--no-save", help="Measure only.")]
Output = Annotated[
    list[Path] | None,
    option("--output", "FILE", "Also write the result here; .json as such, anything else as "
           "text. Can be repeated."),
]  # fmt: skip
Plot = Annotated[list[Path] | None, option("--plot", "FILE", "A plot: .svg or .png.")]
Keep = Annotated[Path | None, option("--samples", "FILE", "Keep all samples here.")]


def calibrate(
    nodes: Nodes = None,
    rate: Rate = None,
    per_node: PerNode = 1,
    network: Network = None,
    mpi_family: Mpi = None,
    seconds: Seconds = "30s",
    save: Save = None,
    no_save: NoSave = False,
    output: Output = None,
    plot: Plot = None,
    keep: Keep = None,
    deadline: Deadline = None,
    as_json: Json = False,
) -> None:
    """Measure what messages and combining cost, and save it as the default network.

    alpha, beta, gamma and the others of the cost model, each with a 95 % interval and how it was
    found, from plain MPI messages of 8 B to 4 MiB: in a ring of all ranks, between pairs both ways,
    and for one pair alone. Then simulate uses them, and bench plans with them at the same place
    with the same MPI library; for programs of your own set LATECOMER_NETWORK=@FILE.

    Where the model does not fit, a sentence and the plot say so.

    Example: latecomer calibrate --nodes 8 --rate 200mbit --plot calibration.svg
    """
    from ..bench import places, program, result
    from ..bench.errors import OptionError
    from ..calibrate import job
    from ..compiled import core
    from ..networks import default_path

    if network == "inherit" and places.rank_of_job():
        be_quiet()
    if save and no_save:
        raise OptionError("--save and --no-save both given", save, "give one of them")
    result.check_paths([*(output or ()), *filter(None, (keep, save))], plot or (), (".svg", ".png"))
    length = core.parse_seconds("--seconds", seconds)
    if not _SHORTEST_S <= length <= _LONGEST_S:
        remedy = f"use {_SHORTEST_S}s to {_LONGEST_S}s; some rounds are measured in any case"
        raise OptionError("--seconds out of range", seconds, remedy)
    place = places.find_place(network, nodes, rate, per_node, mpi_family, prefix=program.CALIBRATE)
    if place.ranks < 2:
        raise OptionError("too few ranks to send messages", place.ranks, "use 2 or more")
    if place.rank:
        raise typer.Exit(job.take_part(place, length, deadline))
    found = job.calibrate(place, length, deadline, keep)
    found.show(as_json)
    for path in output or ():
        found.write(path)
    if plot:
        from ..report import calibration  # matplotlib takes a while to load

        for path in plot:
            calibration.save(found, path)
    if not no_save:
        found.save(save or default_path())
