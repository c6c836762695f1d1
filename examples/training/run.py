"""Trains a neural network on the emulated cluster, with one all-reduce after another.

    .venv/bin/pip install torch==2.13.0 mpi4py
    .venv/bin/python examples/training/run.py [--nodes 8] [--imbalance natural,slow,random]

Prints a table for each kind of imbalance beside the paper's, and writes training.json and
training.png. Exits with 1 if the ranks' networks differ from each other, or from Gloo's by more
than rounding.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

from imbalance import KINDS  # noqa: E402 - after the path
from latecomer.base.errors import UserError  # noqa: E402
from latecomer.base.output import console, progress_bar, say  # noqa: E402
from latecomer.lab import cluster  # noqa: E402
from latecomer.lab.bench import places  # noqa: E402
from outcome import LIMIT, NAMES, Results  # noqa: E402
from rich.table import Table  # noqa: E402

PAPER = {"ring": (35.7, 1.0, 1.0), "sorted_linear_tree": (33.1, 1.079, 1.040),
         "prereduced_ring": (31.9, 1.121, 1.042)}  # fmt: skip


def options(words: Sequence[str] | None) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").partition("\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--nodes", type=int, default=8, help="hosts, with a rank on each")
    parser.add_argument("--rate", default="100mbit", help="of the lab's links")
    parser.add_argument("--mpi", help="openmpi or mpich")
    parser.add_argument("--algorithms", default=",".join(NAMES), help="gloo: PyTorch's own")
    parser.add_argument("--imbalance", default=",".join(KINDS), help=f"of {', '.join(KINDS)}")
    parser.add_argument("--delay", type=float, default=50, help="of slow hosts, in milliseconds")
    parser.add_argument("--runs", type=int, default=6, help="the first one does not count")
    parser.add_argument("--iterations", type=int, default=24, help="of each run")
    parser.add_argument("--batch", type=int, default=1, help="images of each rank in an iteration")
    parser.add_argument("--data", type=Path, help="a folder with CIFAR-10's data_batch_*.bin")
    parser.add_argument("--seed", type=int, default=1, help="of the data's order and of delays")
    parser.add_argument("--deadline", type=float, default=3600, help="of the run, in seconds")
    parser.add_argument("--out", type=Path, default=Path("results/training"), help="a folder")
    return parser.parse_args(words)


def measure(asked: argparse.Namespace) -> list[dict]:
    """Run the training. Raises UserError."""
    unknown = set(asked.imbalance.split(",")) - set(KINDS)
    if unknown:
        raise UserError("unknown kind of --imbalance", ",".join(unknown), f"use {', '.join(KINDS)}")
    for module in ("torch", "mpi4py"):
        if importlib.util.find_spec(module) is None:
            what = "a package is not installed"
            raise UserError(what, module, ".venv/bin/pip install torch==2.13.0 mpi4py")
    spec = cluster.settle(cluster.LabSpec(asked.nodes, cluster.parse_rate(asked.rate)))
    folder = asked.out.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    lines = folder / "runs.jsonl"
    lines.unlink(missing_ok=True)  # an earlier run's must not pass for this one's
    program = [sys.executable, str(Path(__file__).with_name("train.py"))]
    words = ["--out", lines, "--delay", asked.delay / 1e3]
    for name in ("algorithms", "imbalance", "runs", "iterations", "batch", "seed"):
        words += [f"--{name}", getattr(asked, name)]
    words += ["--data", asked.data.absolute()] if asked.data else []
    costs = os.environ.get("LATECOMER_NETWORK") or places.lab_costs(spec)
    env = {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT / "python"), "LATECOMER_NETWORK": costs,
           "TORCH_CPP_LOG_LEVEL": "ERROR"}  # fmt: skip
    total = len(asked.imbalance.split(",")) * asked.runs * len(asked.algorithms.split(","))
    with _progress(lines, total):
        code = cluster.run(spec, [*program, *map(str, words)], mpi=asked.mpi, env=env,
                       deadline=asked.deadline, announce=say)  # fmt: skip
    if code:
        raise UserError("the training ended with exit code", code, "see the messages above")
    return [json.loads(line) for line in lines.read_text(encoding="utf-8").splitlines()]


class _progress:  # noqa: N801 - used as a function
    """A bar that follows the lines of a file."""

    def __init__(self, path: Path, total: int) -> None:
        self._path, self._total, self._end = path, total, threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def _follow(self) -> None:
        with progress_bar() as bar:
            task = bar.add_task("training", total=self._total)
            while not self._end.wait(0.5):
                if self._path.exists():
                    done = self._path.read_text(encoding="utf-8").count('"elapsed_s"')
                    bar.update(task, completed=done)


def table(results: Results, kind: str) -> Table:
    """A row for each algorithm; medians of the runs, and the least and the most."""
    title = f"{kind}: {KINDS[kind].replace('DELAY', f'{results.delay_ms:g} ms')}"
    found = Table(title=title, title_justify="left")
    found.add_column("all-reduce")
    for name in ("elapsed, ms", "x ring", "total, s", "x ring", "of native", "of gloo",
                 "first run, s", "paper: ms", "x", "total x", "from gloo's"):  # fmt: skip
        found.add_column(name, justify="right")
    for row in results.rows(kind):
        paper = [f"{number:g}" for number in PAPER.get(row.algorithm, ())] or ["", "", ""]
        found.add_row(
            row.algorithm, f"{1e3 * row.elapsed:.1f} ({1e3 * row.elapsed_range[0]:.0f}-"
            f"{1e3 * row.elapsed_range[1]:.0f})", f"{row.elapsed_speedup:.2f}",
            f"{row.total:.2f} ({row.total_range[0]:.2f}-{row.total_range[1]:.2f})",
            f"{row.total_speedup:.3f}", f"{row.of_native:.2f}", f"{row.of_gloo:.2f}",
            f"{row.first:.2f}", *paper, f"{row.difference:.0e}")  # fmt: skip
    return found


def main(words: Sequence[str] | None = None) -> int:
    """The exit code."""
    asked = options(words)
    began = time.monotonic()
    try:
        lines = measure(asked)
    except UserError as error:
        say(f"error: {error}")
        return 1
    results = Results(lines, asked.delay)
    from network import PAPERS_PARAMETERS, network, parameters

    say(f"{parameters(network())} parameters, the paper's network has {PAPERS_PARAMETERS}")
    say(f"{asked.nodes} hosts, {asked.rate}, {asked.runs} runs of {asked.iterations} iterations, "
        f"images of a rank in an iteration: {asked.batch}")  # fmt: skip
    for kind in results.kinds:
        console().print(table(results, kind))
        say(f"auto ({kind}): {results.chosen(kind)}")
    about = {name: str(value) for name, value in vars(asked).items()}
    facts = {"options": about, "seconds": round(time.monotonic() - began), "lines": lines}
    (asked.out / "training.json").write_text(json.dumps(facts, indent=1), encoding="utf-8")
    from picture import save

    save(results, asked.out / "training.png", f"{asked.nodes} hosts, {asked.rate}")
    say(f"wrote training.json, training.png and runs.jsonl in {asked.out}")
    if wrong := results.wrong():
        say(f"error: networks differ by more than {LIMIT:g}: {', '.join(wrong)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
