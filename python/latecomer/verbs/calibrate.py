"""`latecomer calibrate`: what messages and combining cost here, as the default network."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from ..command import declare
from ..command.declare import flag
from ..lab.options.choices import PLACES, OptionError
from ..launch.program import CALIBRATE
from .options import Json, Where, option

_SHORTEST_S, _LONGEST_S = 1, 86400


@dataclass(frozen=True, kw_only=True)
class Options(Where):
    """The options of calibrate."""

    network: Annotated[
        str | None, declare.option("--network", "PLACE", "The old name of --place.", hidden=True)
    ] = None
    budget: Annotated[str, option("--budget", "TIME", "From 1s to one day (86400s).")] = "30s"
    save: Annotated[Path | None, option(
        "--save", "FILE", "Save the costs in this file. The default is the file that bench and "
        "simulate read, latecomer/network in $XDG_CONFIG_HOME or ~/.config."
    )] = None  # fmt: skip
    no_save: Annotated[bool, flag("--no-save", "Measure, and save nothing.")] = False
    output: Annotated[list[Path] | None, option(
        "--output", "FILE", "As JSON if its name ends in .json, else as text."
    )] = None  # fmt: skip
    plot: Annotated[list[Path] | None, option("--plot", "FILE", "")] = None
    keep: Annotated[Path | None, option("--samples", "FILE", "Keep all samples in this file.")] = (
        None
    )
    json: Json = False


def calibrate(asked: Options) -> int:
    """Measure the costs of messages and combining, and save them as the default network.

    The result is alpha, beta, gamma and the other costs of the model, each with its 95 % interval
    and its method. MPI messages of 8 B to 4 MiB are timed in a ring of all ranks, between pairs
    both ways, and for one pair alone. simulate uses the saved costs; bench plans with them at the
    same place with the same MPI library; your own programs do with LATECOMER_NETWORK=@FILE.

    Sentences and the plot show where the model does not fit.

    Example: latecomer calibrate --nodes 8 --rate 200mbit --plot calibration.svg
    """
    from ..core.networks import default_path
    from ..lab.calibrate import job
    from ..lab.views import result

    asked.quiet()
    if asked.network not in (None, *PLACES):
        remedy = "leave it out: costs are measured"
        raise OptionError("--network with calibrate", asked.network, remedy)
    if asked.save and asked.no_save:
        raise OptionError("--save and --no-save both given", asked.save, "give one of them")
    saved_as = None if asked.no_save else asked.save or default_path()
    outputs = [*(asked.output or ()), *filter(None, (asked.keep, asked.save))]
    result.check_paths(outputs, asked.plot or (), (".svg", ".png"))
    length = _length(asked.budget)
    where = asked.find(CALIBRATE)
    if where.ranks < 2:
        raise OptionError("too few ranks to send messages", where.ranks, "use 2 or more")
    if where.rank:
        return job.take_part(where, length, asked.deadline)
    found = job.calibrate(where, length, asked.deadline, asked.keep)
    found.show(asked.json)
    for path in asked.output or ():
        found.write(path)
    if asked.plot:
        from ..lab.calibrate import plot  # matplotlib takes a while to load

        for path in asked.plot:
            plot.save(found, path)
    if saved_as:
        found.save(saved_as)
    return 0


def _length(text: str) -> float:
    """Read the seconds of the measurement. Raises OptionError and ValueError."""
    from ..core.compiled import core

    length = core.parse_seconds("--budget", text)
    if not _SHORTEST_S <= length <= _LONGEST_S:
        remedy = f"use {_SHORTEST_S}s to {_LONGEST_S}s; some rounds are measured in any case"
        raise OptionError("--budget out of range", text, remedy)
    return length
