"""One rank of the training: the same network trained with one algorithm after another.

run.py starts it on all hosts. Rank 0 writes a line of JSON for each run into a file. Annotations
are objects here, not texts, since PyTorch compares those of hooks.
"""

import argparse
import json
import os
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np

if "LATECOMER_LAB" in os.environ:
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "e0")  # its hosts have no other

import latecomer.torch
import torch
import torch.distributed as dist
from data import images
from imbalance import delays
from mpi4py import MPI
from network import network
from torch.nn.parallel import DistributedDataParallel

GLOO = "gloo"
RATE = 0.02  # of learning
FIRST = 3  # iterations of each run that do not count


class Trainee:
    """The network with one way to reduce its gradients, and when this rank came and went."""

    def __init__(self, algorithm: str, comm: MPI.Comm) -> None:
        self.model = DistributedDataParallel(network())
        self.optimizer = torch.optim.SGD(self.model.parameters(), RATE)
        self.loss = torch.nn.CrossEntropyLoss()
        self.arrivals: list[float] = []
        if algorithm == GLOO:
            self.state, self.hook = None, _gloo_hook
        else:
            choice = {"allreduce": algorithm}
            self.state = latecomer.torch.HookState(comm, algorithm=choice)
            self.hook = latecomer.torch.allreduce_hook
        self.model.register_comm_hook(self.state, self._timed)
        self._start = {name: each.clone() for name, each in self.model.module.state_dict().items()}

    def _timed(self, state, bucket):
        self.arrivals.append(time.monotonic())
        return self.hook(state, bucket)

    def forget(self) -> None:
        """Begin anew with the same weights."""
        self.model.module.load_state_dict(self._start)
        self.arrivals.clear()

    def step(self, pixels: torch.Tensor, labels: torch.Tensor, extra: float) -> float:
        """One iteration, which computes for `extra` seconds more. The time when it was reduced."""
        self.optimizer.zero_grad()
        loss = self.loss(self.model(pixels), labels)
        if extra > 0:
            time.sleep(extra)  # hosts share this machine's cores: a slow host must take none
        loss.backward()
        left = time.monotonic()
        self.optimizer.step()
        return left

    def weights(self) -> np.ndarray:
        """All parameters as one vector."""
        return torch.cat([each.detach().reshape(-1) for each in self.model.parameters()]).numpy()


def _gloo_hook(_: None, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    tensor = bucket.buffer().div_(dist.get_world_size())
    return dist.all_reduce(tensor, async_op=True).get_future().then(lambda done: done.value()[0])


def options() -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--algorithms", required=True)
    parser.add_argument("--imbalance", required=True)
    parser.add_argument("--delay", type=float, required=True, help="seconds")
    parser.add_argument("--runs", type=int, required=True)
    parser.add_argument("--iterations", type=int, required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    return parser.parse_args()


class Job:
    """What all runs of this rank share."""

    def __init__(self, asked: argparse.Namespace) -> None:
        self.asked, self.comm = asked, MPI.COMM_WORLD
        self.names = asked.algorithms.split(",")
        self.count = FIRST + asked.iterations
        pixels, labels = images(asked.data)
        self.pixels, self.labels = torch.from_numpy(pixels), torch.from_numpy(labels)

    def compare(self, kind: str) -> None:
        """Train with all algorithms in turn, run by run, with one kind of imbalance."""
        trainees = {name: Trainee(name, self.comm) for name in self.names}
        for run in range(self.asked.runs):
            weights = {}
            for name in self.names[run % len(self.names) :] + self.names[: run % len(self.names)]:
                total, elapsed = self._train(trainees[name], kind, run)
                weights[name] = trainees[name].weights()
                self._write(kind, run, name, total, elapsed, weights[name])
            self._write_differences(kind, run, weights)
        chosen = {name: _algorithms(each.state) for name, each in trainees.items() if each.state}
        self._write_line({"imbalance": kind, "chosen": chosen})
        for each in trainees.values():
            if each.state:
                each.state.close()

    def _train(self, trainee: Trainee, kind: str, run: int) -> tuple[float, float]:
        """Train from the start: the total time and the mean time in the reduction, in seconds."""
        comm, asked = self.comm, self.asked
        draw = np.random.default_rng([asked.seed, run])
        chosen = draw.integers(0, len(self.labels), (self.count, comm.size, asked.batch))
        extra = delays(kind, asked.delay, self.count, comm.size, [asked.seed, run])
        trainee.forget()
        left, began = [], 0.0
        for i in range(self.count):
            if i in (0, FIRST):
                comm.Barrier()
                began = time.monotonic()
            mine = chosen[i, comm.rank]
            left.append(trainee.step(self.pixels[mine], self.labels[mine], extra[i, comm.rank]))
        total = time.monotonic() - began
        arrived = np.array(trainee.arrivals).reshape(self.count, -1)[:, -1]  # the last bucket's
        return total, float((np.array(left) - arrived)[FIRST:].mean())

    def _write(
        self, kind: str, run: int, name: str, total: float, elapsed: float, weights: np.ndarray
    ) -> None:
        """One run: the longest total time, the mean time in the reduction."""
        comm = self.comm
        mean, longest = comm.allreduce(elapsed) / comm.size, comm.allreduce(total, MPI.MAX)
        alike = len(set(comm.allgather(weights.tobytes()))) == 1
        self._write_line({"imbalance": kind, "run": run, "algorithm": name, "elapsed_s": mean,
                          "total_s": longest, "alike": alike})  # fmt: skip

    def _write_differences(self, kind: str, run: int, weights: dict[str, np.ndarray]) -> None:
        """How far the trained parameters are from Gloo's, relative to the largest."""
        if GLOO in weights:
            right = weights[GLOO]
            largest = {name: float(abs(each - right).max() / abs(right).max())
                       for name, each in weights.items()}  # fmt: skip
            self._write_line({"imbalance": kind, "run": run, "from_gloo": largest})

    def _write_line(self, row: dict[str, Any]) -> None:
        if self.comm.rank == 0:
            with self.asked.out.open("a", encoding="utf-8") as out:
                out.write(json.dumps(row) + "\n")


def _algorithms(state: latecomer.torch.HookState) -> dict[str, int]:
    return state.stats().kinds[-1].algorithms


def main() -> None:
    """Train with each kind of imbalance in turn."""
    asked = options()
    torch.set_num_threads(1)
    dist.init_process_group(GLOO, init_method="mpi://", timeout=timedelta(minutes=5))
    job = Job(asked)
    for kind in asked.imbalance.split(","):
        job.compare(kind)
    job.comm.Barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
