"""Runs the ray tracer on the emulated cluster, before and after: with MPI's own reduction and ours.

    .venv/bin/python examples/raytracer/run.py [--nodes 8] [--rate 200mbit] [--frames 20]

Each frame is drawn and composited anew for each algorithm, in turn, so that noise hits all alike.
Prints a table and writes pictures: an image of the scene, and when ranks come and go. Exits with 1
if an image was wrong.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

from film import LIMIT, Film, read  # noqa: E402 - after the path
from latecomer.base.errors import UserError  # noqa: E402
from latecomer.base.output import console, say  # noqa: E402
from latecomer.core import registry  # noqa: E402
from latecomer.core.compiled import core  # noqa: E402
from latecomer.lab.bench import places  # noqa: E402
from rich.table import Table  # noqa: E402

PROGRAM = "latecomer_raytracer_"  # and the MPI family


def _copes(algorithm) -> bool:
    """Does it plan by arrivals, or decide while it runs?"""
    return algorithm.arrival_aware or algorithm.kind == "protocol"


def worth_comparing() -> list[str]:
    """MPI's own reduction, the classical tree, and whatever knows of arrivals."""
    able = [
        a for a in registry.algorithms("reduce") if core.accepts_operator("reduce", a.name, False)
    ]
    aware = [a.name for a in able if _copes(a) and a.name != "auto"]
    return ["native", "binomial", *aware, "auto"]


def options(words: Sequence[str] | None) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").partition("\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--nodes", type=int, default=8, help="ranks, each on a host of its own")
    parser.add_argument("--rate", help="of the lab's links, 200mbit unless told")
    places_ = {"choices": ("lab", "local"), "help": "default: lab where it works"}
    parser.add_argument("--place", **places_)
    parser.add_argument("--network", dest="place", **places_ | {"help": "the old name of --place"})
    parser.add_argument("--mpi", help="openmpi or mpich")
    parser.add_argument("--algorithms", default=",".join(worth_comparing()), help="first: before")
    parser.add_argument("--frames", type=int, default=20, help="the first one is not counted")
    parser.add_argument("--size", default="640x480", help="of the image in pixels")
    parser.add_argument("--root", type=int, default=0, help="the rank that gets the image")
    parser.add_argument("--check", action="store_true", help="compare with one rank's image, too")
    parser.add_argument("--deadline", type=float, default=1800, help="of the run, in seconds")
    parser.add_argument("--out", type=Path, default=Path("results/raytracer"), help="a folder")
    return parser.parse_args(words)


def measure(asked: argparse.Namespace, place: places.Place) -> Film:
    """Run the program. Raises UserError."""
    folder = asked.out.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    times = folder / "times.jsonl"
    times.unlink(missing_ok=True)  # an earlier run's must not pass for this one's
    words = ["--algorithm", asked.algorithms, "--frames", asked.frames, "--size", asked.size]
    words += ["--root", asked.root, "--out", folder, "--times", times]
    words += ["--network", place.costs] if place.costs else []
    words += ["--check"] if asked.check else []
    code = place.run([str(word) for word in words], asked.deadline)
    if code:
        raise UserError("the ray tracer ended with exit code", code, "see the messages above")
    return read(times)


def table(film: Film, place: places.Place) -> Table:
    """A row for each algorithm."""
    title = f"{place.ranks} ranks, {place.name}, {film.counted} frames; medians in ms"
    found = Table(title=title, title_justify="left")
    found.add_column("compositing")
    for name in ("drawing, mean", "drawing, last", "in the call, mean", "after the last",
                 f"x {film.algorithms[0]}", "frame"):  # fmt: skip
        found.add_column(name, justify="right")
    found.add_column("image")
    for name in film.algorithms:
        row = film.row(name)
        times = [_ms(time) for time in (row.drawing, row.last, row.inside, row.after_last)]
        found.add_row(name, *times, f"{row.speedup:.2f}", _ms(row.whole), row.image)
    return found


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.1f}"


def main(words: Sequence[str] | None = None) -> int:
    """The exit code."""
    asked = options(words)
    try:
        place = places.find_place(
            asked.place, asked.nodes, asked.rate, 1, asked.mpi, prefix=PROGRAM
        )
        film = measure(asked, place)
    except UserError as error:
        say(f"error: {error}")
        return 1
    console().print(table(film, place))
    from pictures import save_chart, save_image

    save_chart(film, asked.out / "arrivals.png", f"{place.ranks} ranks, {place.name}")
    save_image(asked.out, film.typical)
    say(f"wrote image.png, arrivals.png, times.jsonl and all frames in {asked.out}")
    if wrong := film.wrong():
        say(f"error: images differ by more than {LIMIT:g}: {', '.join(wrong)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
