"""The main job of ./demo: the all-reduce mini-benchmark with one late rank on an emulated cluster.

Every registered algorithm and the native one, balanced and with one rank late, on 8 hosts. Writes
results/demo.csv, .json and .html. Where no namespaces are to be had it uses plain local ranks.
Further arguments go to `latecomer bench`, for instance --nodes 16.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "results"
LAB = ["--nodes", "8", "--rate", "200mbit", "--bytes", "4MiB", "--delay", "0,500ms"]
LOCAL = ["--place", "local", "--nodes", "4", "--bytes", "4MiB", "--delay", "0,50ms"]
COMMON = ["--arrivals", "onelate", "--algorithms", "all", "--iterations", "4", "--warmup", "1",
          "--compute", "20ms"]  # fmt: skip


def lab_works() -> bool:
    """Tell whether namespaces can be had; if not, print why."""
    from latecomer.base.errors import UserError
    from latecomer.lab.cluster import LabSpec, settle

    try:
        settle(LabSpec(2, 100_000_000))
    except UserError as error:
        print(f"latecomer: no emulated cluster here ({error}).", file=sys.stderr)
        print("latecomer: using plain local ranks instead.", file=sys.stderr)
        return False
    return True


def main() -> int:
    sys.path.insert(0, str(ROOT / "python"))
    RESULTS.mkdir(exist_ok=True)
    network = LAB if lab_works() else LOCAL
    csv, json, page = (RESULTS / f"demo.{end}" for end in ("csv", "json", "html"))
    for file in (csv, json, page):
        file.unlink(missing_ok=True)  # an earlier run's must not pass for this one's
    outputs = ["--output", str(csv), "--output", str(json), "--html", str(page)]
    command = [str(ROOT / "latecomer"), "bench", *network, *COMMON, *outputs, *sys.argv[1:]]
    os.execv(command[0], command)


if __name__ == "__main__":
    sys.exit(main())
