"""How long a report takes, how large its page is, and how long a browser needs to open it.

    .venv/bin/python evidence/report_scale.py --ranks 16 --calls 10000
    .venv/bin/python evidence/report_scale.py --ranks 1000 --calls 100000
    .venv/bin/python evidence/report_scale.py ... --keep FOLDER

Writes a made-up trace in the library's format, runs `latecomer report` on it, and opens the page in
headless Chromium: from the start of the browser until the page's script has drawn. The trace takes
64 bytes for each rank and call; the second command needs 7 GB of disk.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np
from latecomer.report.trace import native_file as native

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "python"))

from trace_helpers import ZERO, Files  # noqa: E402

TURNS = 4  # of the browser


def write(folder: Path, ranks: int, calls: int, size: int = 64 << 10) -> None:
    """A loop of 20 ms whose ranks compute unevenly; rank 7 is 6 ms late, and a wave goes by."""
    files, numbers = Files(ranks), np.arange(calls)
    start = 20_000_000 * numbers
    last = start + 14_000_000
    own = np.random.default_rng(0).gamma(2.0, 400_000, ranks)
    for rank in range(ranks):
        rng = np.random.default_rng([1, rank])
        late = own[rank] + rng.exponential(500_000, calls)
        late += 6_000_000 * (rank == 7)
        late[numbers * ranks // calls == rank] += 5_000_000
        records = np.zeros(calls, native.CALL)
        records["kind"], records["served"], records["sequence"] = native.A_CALL, 1, numbers
        records["bytes"], records["element_bytes"], records["root"] = size, 4, -1
        records["arrival"] = ZERO + start + np.minimum(late, 14_000_000).astype(np.int64)
        records["exit"] = ZERO + last + 1_000_000 + rng.integers(0, 250_000, calls)
        for name, number in (("collective", 2), ("site", 3), ("algorithm", 4), ("op", 5)):
            records[name] = number
        header, others = files.header(rank), [*files.texts(), files.communicator(rank)]
        header["used"] = len(others) + calls
        header["end"] = ZERO + 20_000_000 * (calls + 1)
        with (folder / f"rank-{rank}.trace").open("wb") as out:
            out.write(header.tobytes() + b"".join(each.tobytes() for each in others))
            records.tofile(out)


def report(folder: Path, page: Path, budget: str | None) -> tuple[float, float]:
    """Seconds, and the most memory in GB, of the command."""
    command = [ROOT / "latecomer", "report", folder, "--html", page]
    command += ["--budget", budget] if budget is not None else []
    began = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    took = time.perf_counter() - began
    return took, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e6


def opened(page: Path, scratch: Path) -> float | None:
    """Seconds from the start of the browser until the script has drawn; None: no browser."""
    browser = shutil.which("chromium") or shutil.which("chromium-headless-shell")
    if browser is None:
        return None
    times = []
    for _ in range(TURNS):
        began = time.perf_counter()
        done = subprocess.run(
            [browser, "--headless", "--no-sandbox", "--disable-gpu",
             f"--user-data-dir={scratch / 'profile'}", "--dump-dom", page.as_uri()],
            capture_output=True, text=True, timeout=120, check=True,
        )  # fmt: skip
        times.append(time.perf_counter() - began)
        if 'data-ready="1"' not in done.stdout:
            sys.exit("the page's script did not come to its end")
    return median(times[1:])  # the first one makes the browser's profile


def main() -> None:
    """Three numbers."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=16)
    parser.add_argument("--calls", type=int, default=10000)
    parser.add_argument("--budget", help="of the what-if, as in latecomer report")
    parser.add_argument("--keep", type=Path, help="keep the trace and the page in this new folder")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or Path(scratch) / "trace"
        folder.mkdir(parents=True)
        write(folder, options.ranks, options.calls)
        os.sync()
        page = (folder / "report.html").resolve()
        took, memory = report(folder, page, options.budget)
        print(f"{options.ranks} ranks, {options.calls} calls: report in {took:.1f} s with "
              f"{memory:.1f} GB, page of {page.stat().st_size / 1e6:.2f} MB")  # fmt: skip
        shown = opened(page, Path(scratch))
        print("no Chromium here" if shown is None else f"opened in {shown:.2f} s")


if __name__ == "__main__":
    main()
