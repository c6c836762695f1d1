"""Plays worlds: programs of collective calls on simulated ranks, by the library as it ships.

    evidence/worlds.py --seeds 1-100000 [--ranks 16] [--steps 100]

Each seed is one world: a network, a placement, settings, communicators that come and go, late
ranks, clocks that drift, ranks that stop or die. The program of tests/worlds checks each call on
all ranks. A seed with a fault is printed with a shorter world that has the same fault, and the
command fails. Prints the sums over all worlds.
"""

import argparse
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

PROGRAM = Path(__file__).parent.parent / "build" / "release" / "worlds" / "latecomer_worlds"
BATCH = 500  # worlds of one process: dead ranks keep their memory until it ends
SUMS = re.compile(
    r"(\d+) worlds, (\d+) calls, (\d+) messages, (\S+) s of the worlds' time; (\d+) worlds"
)


def play(first: int, last: int, ranks: int, steps: int) -> tuple[list[float], str]:
    """Sums of these seeds' worlds, and all that was said about faults."""
    words = [str(PROGRAM), str(first), str(last), str(ranks), str(steps)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    found = SUMS.search(done.stdout)
    if found is None:
        said = done.stdout + done.stderr
        return [0, 0, 0, 0, 1], f"seeds {first} to {last}: ended by {done.returncode}\n{said}"
    return [float(number) for number in found.groups()], done.stdout[: found.start()]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", default="1-1000", help="A-B (default: 1-1000)")
    parser.add_argument("--ranks", type=int, default=16, help="at most (default: 16)")
    parser.add_argument("--steps", type=int, default=100, help="calls of a world (default: 100)")
    words = parser.parse_args()
    limits = re.fullmatch(r"(\d+)-(\d+)", words.seeds)
    if limits is None:
        parser.error(f"--seeds: '{words.seeds}' is not usable; right would be 1-1000")
    if not PROGRAM.exists():
        parser.error(f"{PROGRAM} is not built; right would be cmake --build build/release first")
    first, last = (int(number) for number in limits.groups())
    batches = [(begin, min(begin + BATCH - 1, last)) for begin in range(first, last + 1, BATCH)]
    total = [0.0] * 5
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for sums, said in pool.map(lambda b: play(*b, words.ranks, words.steps), batches):
            total = [a + b for a, b in zip(total, sums, strict=True)]
            print(said, end="", flush=True)
    worlds, calls, messages, seconds, wrong = total
    print(f"{worlds:.0f} worlds, {calls:.0f} calls, {messages:.0f} messages, {seconds:.0f} s of")
    print(f"the worlds' time; {wrong:.0f} worlds with faults")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
