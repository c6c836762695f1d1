"""`latecomer calibrate`: what messages and combining cost here, as the default network."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from ..command import declare
from ..command.declare import flag
from ..lab.options.errors import OptionError
from .bench import Deadline, Mpi, Nodes, PerNode, PlaceOption, Rate, be_quiet, place_and_costs
from .options import Json, Ranks, nodes_for, option

_SHORTEST_S, _LONGEST_S = 1, 86400

Budget = Annotated[
    str, option("--budget", "TIME", "Measure for about this long, from 1s to one day (86400s).")
]
Save = Annotated[
    Path | None,
    option("--save", "FILE", "Save the costs in this file. The default is the file that bench and "
           "simulate read, latecomer/network in $XDG_CONFIG_HOME or ~/.config."),
]  # fmt: skip
NoSave = Annotated[bool, flag("--no-save", "Measure, and save nothing.")]
Output = Annotated[
    list[Path] | None,
    option("--output", "FILE", "Also write the result to this file: as JSON if its name ends in "
           ".json, else as text."),
]  # fmt: skip
Plot = Annotated[
    list[Path] | None, option("--plot", "FILE", "Draw a plot into this .svg or .png file.")
]
Keep = Annotated[Path | None, option("--samples", "FILE", "Keep all samples in this file.")]
OldNetwork = Annotated[
    str | None,
    declare.option("--network", "PLACE", "The old name of --place.", hidden=True),
]


def calibrate(
    ranks: Ranks = None,
    nodes: Nodes = None,
    rate: Rate = None,
    per_node: PerNode = 1,
    place: PlaceOption = None,
    network: OldNetwork = None,
    mpi_family: Mpi = None,
    budget: Budget = "30s",
    save: Save = None,
    no_save: NoSave = False,
    output: Output = None,
    plot: Plot = None,
    keep: Keep = None,
    deadline: Deadline = None,
    as_json: Json = False,
) -> int:
    """Measure the costs of messages and combining, and save them as the default network.

    The result is alpha, beta, gamma and the other costs of the model, each with its 95 % interval
    and its method. MPI messages of 8 B to 4 MiB are timed in a ring of all ranks, between pairs
    both ways, and for one pair alone. simulate uses the saved costs; bench plans with them at the
    same place with the same MPI library; your own programs do with LATECOMER_NETWORK=@FILE.

    Sentences and the plot show where the model does not fit.

    Example: latecomer calibrate --nodes 8 --rate 200mbit --plot calibration.svg
    """
    from ..core.networks import default_path
    from ..lab.bench import places
    from ..lab.calibrate import job
    from ..lab.views import result
    from ..launch import program

    if "inherit" in (place, network) and places.rank_of_job():
        be_quiet()
    place, costs = place_and_costs(place, network)
    if costs is not None:
        raise OptionError("--network with calibrate", costs, "leave it out: costs are measured")
    if save and no_save:
        raise OptionError("--save and --no-save both given", save, "give one of them")
    result.check_paths([*(output or ()), *filter(None, (keep, save))], plot or (), (".svg", ".png"))
    length = _length(budget)
    nodes = nodes_for(ranks, nodes, per_node)
    where = places.find_place(place, nodes, rate, per_node, mpi_family, prefix=program.CALIBRATE)
    if where.ranks < 2:
        raise OptionError("too few ranks to send messages", where.ranks, "use 2 or more")
    if where.rank:
        return job.take_part(where, length, deadline)
    found = job.calibrate(where, length, deadline, keep)
    found.show(as_json)
    for path in output or ():
        found.write(path)
    if plot:
        from ..lab.calibrate import plot as calibration  # matplotlib takes a while to load

        for path in plot:
            calibration.save(found, path)
    if not no_save:
        found.save(save or default_path())
    return 0


def _length(text: str) -> float:
    """Read the seconds of the measurement. Raises OptionError and ValueError."""
    from ..core.compiled import core

    length = core.parse_seconds("--budget", text)
    if not _SHORTEST_S <= length <= _LONGEST_S:
        remedy = f"use {_SHORTEST_S}s to {_LONGEST_S}s; some rounds are measured in any case"
        raise OptionError("--budget out of range", text, remedy)
    return length
