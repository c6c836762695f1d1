"""What planning a call takes: .venv/bin/python tools/planning_time.py [RANKS,RANKS ...].

4 MiB all-reduce, one rank expected late. Least of several tries in milliseconds, a row for each
number of ranks.
"""

from __future__ import annotations

import sys
import time

from latecomer.compiled import core

NAMES = ("fastest", "sorted_linear_tree", "prereduced_ring", "auto")


def milliseconds(name: str, ranks: int) -> float:
    """Of making one plan."""
    problem = core.Problem("allreduce", ranks=ranks, count=1 << 20)
    tries = []
    for late in range(5):  # another one each time: what was planned last is remembered
        arrivals = [0.0] * ranks
        arrivals[late] = 0.1
        began = time.perf_counter()
        core.Plan(problem, name, arrivals=arrivals)
        tries.append(time.perf_counter() - began)
    return 1e3 * min(tries)


def main() -> None:
    """The rows."""
    asked = sys.argv[1] if len(sys.argv) > 1 else "16,48,256,1024"
    for ranks in map(int, asked.split(",")):
        cells = " | ".join(f"{milliseconds(name, ranks):.2f}" for name in NAMES)
        print(f"| {ranks} | {cells} |")


if __name__ == "__main__":
    main()
