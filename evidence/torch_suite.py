"""PyTorch's own tests of process groups, with latecomer's process group.

    .venv/bin/pip install torch==2.13.0 mpi4py expecttest
    .venv/bin/python evidence/torch_suite.py [--backend latecomer|gloo] [--ranks 3] [--resume]

The tests are those of torch/testing/_internal/distributed/distributed_test.py, which the wheel
holds. All ranks run one after another; a test that fails or hangs ends the job, and a new job goes
on behind it. Prints each test that did not pass, and writes results/torch_suite_BACKEND_RANKS.json.
Exits 1 if a test failed, or was not reached. `--backend gloo` shows which tests can pass on a
machine without GPUs.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HANG_S = 30
_AT_ONCE = 40  # tests of a job
_TOLD = re.compile(r'@@(\["(?:start|end|done)".*?\])@@')
_BY_NAME = "test_accumulate_gradients_no_sync"


def names() -> list[str]:
    """The tests."""
    from torch.testing._internal.distributed.distributed_test import DistributedTest

    base = DistributedTest._DistTestBase
    return [name for name in dir(base) if name.startswith("test_")]


def job(asked: argparse.Namespace) -> None:
    """The tests from a place on, on one rank."""
    import latecomer.torch  # noqa: F401 - registers the backend
    import torch
    import torch.distributed as dist
    from mpi4py import MPI
    from torch.testing._internal.common_distributed import DistTestCases
    from torch.testing._internal.common_utils import TestCase  # whose assertEqual knows tensors

    for feature in ("plugin", "ddp", "subgroup"):
        DistTestCases.backend_feature[feature].add("latecomer")
    torch.manual_seed(1)  # the tests draw tensors when they are imported, alike on all ranks
    from torch.testing._internal.distributed import distributed_test

    comm = MPI.COMM_WORLD

    class Suite(distributed_test.DistributedTest._DistTestBase, TestCase):
        rank = comm.rank
        world_size = comm.size
        file_name = str(ROOT / "build" / "torch_suite_store")

        def _barrier(self, *_args, **_more):
            comm.Barrier()

    for name in asked.names.split(","):
        say(comm.rank, "start", name)
        dist.init_process_group(asked.backend, init_method="mpi://")
        comm.Barrier()
        torch.manual_seed(1)  # as PyTorch's own runner does
        by_name = name.startswith(_BY_NAME)  # make their model for known backends only
        distributed_test.BACKEND = "gloo" if by_name else asked.backend
        outcome = run_one(Suite(name))
        if outcome.startswith("failed"):
            say(0, "end", name, outcome)
            comm.Abort(1)
        everywhere = comm.allgather(outcome)
        say(comm.rank, "end", name, everywhere[0])
        if dist.is_initialized():
            dist.destroy_process_group()
    say(comm.rank, "done")


def say(rank: int, *words: str) -> None:
    if rank == 0:
        print(f"\n@@{json.dumps(words)}@@", flush=True)


def run_one(test: unittest.TestCase) -> str:
    """passed, skipped or failed."""
    try:
        getattr(test, test._testMethodName)()
    except unittest.SkipTest as skip:
        return f"skipped: {skip}"
    except SystemExit as end:
        return _skipped(end.code) or f"failed: it ended with {end.code}"
    except BaseException as error:
        text = str(error).strip().splitlines() or [""]
        return f"failed: {type(error).__name__}: {text[0][:200]}"
    return "passed"


def _skipped(code: object) -> str:
    """The reason behind an exit code by which PyTorch's decorators skip a test; "": it is none."""
    from torch.testing._internal.common_distributed import TEST_SKIPS

    reasons = (skip.message for skip in TEST_SKIPS.values() if skip.exit_code == code)
    return next((f"skipped: {reason}" for reason in reasons), "")


def run_from(asked: argparse.Namespace, some: list[str], results: dict[str, str]) -> None:
    """One job; adds what it found to `results`, a hang included."""
    sys.path.insert(0, str(ROOT / "python"))
    from latecomer.launch import mpi

    words = [sys.executable, __file__, "--names", ",".join(some), "--backend", asked.backend]
    env = {"PYTHONPATH": str(ROOT / "python"), "OMP_NUM_THREADS": "1", "BACKEND": asked.backend,
           "INIT_METHOD": "mpi://", "WORLD_SIZE": str(asked.ranks),
           "TEMP_DIR": tempfile.gettempdir()}  # fmt: skip
    launch = mpi.launch_command(mpi.family(asked.mpi), asked.ranks, words, env=env, allow_root=True)
    process = subprocess.Popen(launch.command, env=launch.env, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True)  # fmt: skip
    heard = [time.monotonic()]
    watch = threading.Thread(target=end_when_silent, args=(process, heard), daemon=True)
    watch.start()
    running = some[0]
    for line in process.stdout:
        heard[0] = time.monotonic()
        for told in _TOLD.findall(line):  # other ranks print into the same line
            what, *more = json.loads(told)
            running = more[0] if what == "start" else running
            if what == "end":
                results.setdefault(more[0], more[1])
    process.wait()
    if running not in results:
        results[running] = "failed: it hung" if process.returncode < 0 else "failed: the job ended"


def end_when_silent(process: subprocess.Popen, heard: list[float]) -> None:
    while process.poll() is None:
        time.sleep(1)
        if time.monotonic() - heard[0] > HANG_S:
            process.kill()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--backend", default="latecomer")
    parser.add_argument("--ranks", type=int, default=3)
    parser.add_argument("--mpi", help="openmpi or mpich")
    parser.add_argument("--only", default="", help="tests with one of these texts in their names")
    parser.add_argument("--resume", action="store_true", help="do not repeat what a file has")
    parser.add_argument("--limit", type=float, default=7200, help="seconds, then it ends early")
    parser.add_argument("--names", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.names:
        job(asked)
        return 0
    os.environ |= {"BACKEND": asked.backend, "WORLD_SIZE": str(asked.ranks)}
    (Path(tempfile.gettempdir()) / "test_dir").mkdir(exist_ok=True)  # of test_get_rank
    wanted = [name for name in names() if any(each in name for each in asked.only.split(","))]
    out = ROOT / "results" / f"torch_suite_{asked.backend}_{asked.ranks}.json"
    out.parent.mkdir(exist_ok=True)
    results = {name: "skipped: needs a GPU" for name in wanted if "cuda" in name}
    if asked.resume and out.exists():
        before = json.loads(out.read_text())
        results |= {name: outcome for name, outcome in before.items() if name in wanted}
    end = time.monotonic() + asked.limit
    while (left := [name for name in wanted if name not in results]) and time.monotonic() < end:
        run_from(asked, left[:_AT_ONCE], results)
        out.write_text(json.dumps(results, indent=1))
        name, outcome = list(results.items())[-1]
        print(f"{len(results)} of {len(wanted)}; {name}: {outcome}", file=sys.stderr)
    for name, outcome in results.items():
        if not outcome.startswith("passed"):
            print(f"{name}: {outcome}")
    counts = collections.Counter(outcome.partition(":")[0] for outcome in results.values())
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return 1 if counts["failed"] or left else 0


if __name__ == "__main__":
    sys.exit(main())
