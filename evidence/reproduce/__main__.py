"""The program that `latecomer reproduce` runs: `python -m evidence.reproduce PAPER [OPTIONS]`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from latecomer import cli
from latecomer.command.declare import Group
from latecomer.lab.options.choices import one_of
from latecomer.lab.views.result import check_paths
from latecomer.verbs.reproduce import FORMATS, Options

from . import job

_COMMANDS = Group("Papers.", {"reproduce": f"{__name__}:reproduce"})


def reproduce(asked: Options) -> None:
    """Show the published results of a paper beside the times of our programs in its settings."""
    shown = "json" if asked.json else one_of("--format", asked.format, FORMATS)
    output, plot = asked.output or (), asked.plot or ()
    check_paths(output, plot)
    wanted = job.Wanted(asked.paper, asked.tables, asked.network, asked.iterations, asked.seed)
    report = job.run(wanted, job.Lab(asked.nodes, asked.rate) if asked.lab else None)
    for path in (*output, *plot):
        job.save(report, path, shown)
    job.show(report, shown)


def run(words: Sequence[str]) -> int:
    """Run with these words and return the exit code."""
    return cli.run(["reproduce", *words], _COMMANDS)


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
