"""Plays worlds: programs of collective calls on simulated ranks, by the library as it ships.

    evidence/worlds.py --seeds 1-100000 [--ranks 16] [--steps 100] [--dropin] [--traced]

Each seed is one world: a network, a placement, settings, communicators that come and go, late
ranks, clocks that drift, ranks that stop, die, ask wrongly or lack memory. With --started many
calls are persistent ones, several at a time; with --one-machine hosts differ by name alone, as in
all worlds before 29 November 2026. With --dropin the ranks' program knows MPI alone, and one may
lack the drop-in library. With --traced ranks write traces, which must tell what happened
(worlds_traced.py). The programs of tests/worlds check each call on all ranks. A seed with a fault
is printed with a shorter world that has the same fault, a seed that ends the program with the
signal, and the command fails. Prints the sums over all worlds.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from worlds_traced import check

FOLDER = Path(__file__).parent.parent / "build" / "release" / "worlds"
BATCH = 500  # worlds of one process: dead ranks keep their memory until it ends
SUMS = re.compile(
    r"(\d+) worlds, (\d+) calls, (\d+) messages, (\d+) errors told, (\d+) requests for memory "
    r"refused, \d+ B held at most, (\S+) s of the worlds' time; (\d+) worlds"
)


def play(first: int, last: int, program: Path, *kind: str) -> tuple[list[float], str]:
    """Sums of these seeds' worlds, and all that was said about faults. `kind`: ranks, steps, ..."""
    words = [str(program), str(first), str(last), *kind]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    found = SUMS.search(done.stdout)
    if found is not None:
        sums, said = [float(number) for number in found.groups()], done.stdout[: found.start()]
        if done.returncode != int(sums[-1] > 0):  # after the last world, as a sanitizer's does
            said += f"seeds {first} to {last}: the program ended by {done.returncode}, after all\n"
            said += done.stderr
            sums[-1] += 1
        return sums, said
    if first == last:
        said = f"seed {first}: the program ended by {done.returncode}\n{done.stdout}{done.stderr}"
        return [1, 0, 0, 0, 0, 0, 1], said
    middle = (first + last) // 2  # one of them ends the program: which?
    halves = [play(*part, program, *kind) for part in ((first, middle), (middle + 1, last))]
    return [sum(pair) for pair in zip(*(sums for sums, _ in halves), strict=True)], "".join(
        said for _, said in halves
    )


def play_traced(first: int, last: int, program: Path, *kind: str) -> tuple[list[float], str]:
    """The same, and faults of the traces."""
    with tempfile.TemporaryDirectory() as folder:
        sums, said = play(first, last, program, *kind, f"traces={folder}")
        found = check(Path(folder))
    sums[-1] += len({each.split(":")[0] for each in found})
    return sums, said + "".join(f"{each}\n" for each in found)


def limits_of(text: str) -> tuple[int, int]:
    """The first and the last seed. Raises ValueError."""
    first, last = map(int, text.split("-"))
    if not 0 <= first <= last:
        raise ValueError
    return first, last


def at_least(least: int) -> Callable[[str], int]:
    """A reader of whole numbers that raises ValueError for smaller ones."""

    def number(text: str) -> int:
        if int(text) < least:
            raise ValueError
        return int(text)

    number.__name__ = f"whole number from {least} up"
    return number


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    limits_of.__name__ = "range of seeds such as 1-1000"
    parser.add_argument("--seeds", type=limits_of, default=(1, 1000), help="A-B (default: 1-1000)")
    parser.add_argument("--traced", action="store_true", help="ranks write traces")
    parser.add_argument("--ranks", type=at_least(2), default=16, help="at most (default: 16)")
    parser.add_argument("--steps", type=at_least(1), default=100, help="of a world (default: 100)")
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument("--started", action="store_true", help="calls are started, ended later")
    kinds.add_argument("--one-machine", action="store_true", help="hosts differ by name alone")
    kinds.add_argument("--dropin", action="store_true", help="by the drop-in library")
    parser.add_argument(
        "--processes", type=at_least(1), default=os.cpu_count(), help="(default: one for each core)"
    )
    words = parser.parse_args()
    if words.traced and (words.started or words.one_machine):
        parser.error("--traced goes with --dropin, or alone")
    program = FOLDER / ("latecomer_worlds_dropin" if words.dropin else "latecomer_worlds")
    if not program.exists():
        parser.error(f"{program} is not built; right would be cmake --build build/release first")
    first, last = words.seeds
    batches = [(begin, min(begin + BATCH - 1, last)) for begin in range(first, last + 1, BATCH)]
    kind = [str(words.ranks), str(words.steps)]
    kind += ["started"] * words.started + ["one-machine"] * words.one_machine
    total = [0.0] * 7
    with ThreadPoolExecutor(words.processes) as pool:
        player = play_traced if words.traced else play
        for sums, said in pool.map(lambda b: player(*b, program, *kind), batches):
            total = [a + b for a, b in zip(total, sums, strict=True)]
            print(said, end="", flush=True)
    worlds, calls, messages, told, refused, seconds, wrong = total
    print(f"{worlds:.0f} worlds, {calls:.0f} calls, {messages:.0f} messages,")
    print(f"{told:.0f} errors told, {refused:.0f} requests for memory refused,")
    print(f"{seconds:.0f} s of the worlds' time;")
    print(f"{wrong:.0f} worlds with faults")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
