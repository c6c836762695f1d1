"""A job of PyTorch whose ranks are late on purpose, with a profile of each: one line is new.

    torchrun --nproc-per-node 4 examples/pytorch/profiled.py FOLDER
    latecomer report FOLDER

Rank 1 computes 20 ms longer than the others before each all-reduce, and a random rank 10 ms before
each all-gather. FOLDER gets rank0.json.gz, ..., and truth0.txt, ...: when each rank entered each
call, by its own clock, for those who want to check the report. Needs torch; the CPU suffices.
"""

import json
import os
import random
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch.profiler import ProfilerActivity, profile

STEPS = 20


def main() -> None:
    """Run the steps under the profiler."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    dist.init_process_group("gloo")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    pair = dist.new_group([0, 1])
    weights, part = torch.ones(1 << 18), torch.ones(1 << 14)
    parts = [torch.empty_like(part) for _ in range(ranks)]
    luck = random.Random(1)
    entered = []

    def call(name: str, function, *words, **more) -> None:
        entered.append((name, time.time()))
        function(*words, **more)

    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as recorded:
        for _ in range(STEPS):
            time.sleep(0.03 if rank == 1 else 0.01)
            call("allreduce", dist.all_reduce, weights)
            if rank < 2:
                call("pair", dist.all_reduce, weights[:4096], group=pair)
            time.sleep(0.015 if rank == luck.randrange(ranks) else 0.005)
            call("allgather", dist.all_gather, parts, part)
            call("bcast", dist.broadcast, weights, src=0)
        call("barrier", dist.barrier)
    # The line that a program needs:
    recorded.export_chrome_trace(os.fspath(folder / f"rank{rank}.json.gz"))
    (folder / f"truth{rank}.txt").write_text(json.dumps(entered))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
