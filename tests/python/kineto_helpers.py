"""Profiler traces for tests: the recorded ones, changed, and made ones of a device."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
from latecomer.report.analysis.lateness import analyse

# Recorded by examples/pytorch/profiled.py with 4 ranks of Gloo, torch 2.13, on one host.
RECORDED = Path(__file__).parent / "kineto"
RANKS = 4


def load(rank: int, folder: Path = RECORDED) -> dict:
    with gzip.open(folder / f"rank{rank}.json.gz", "rt", encoding="utf-8") as file:
        return json.load(file)


def store(folder: Path, rank: int, trace: object) -> Path:
    path = folder / f"rank{rank}.json"
    path.write_text(json.dumps(trace), encoding="utf-8")
    return path


def entered(name: str) -> np.ndarray:
    """When each rank says it entered the calls of this name, in seconds; shape (calls, ranks)."""
    said = [json.loads((RECORDED / f"truth{rank}.txt").read_text()) for rank in range(RANKS)]
    return np.array([[when for called, when in own if called == name] for own in said]).T


def kernel(name: str, start: float, length: float, external: int = 0, **args: object) -> dict:
    return {
        "ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": 1e6 * start,
        "dur": 1e6 * length, "args": {"External id": external, **args},
    }  # fmt: skip


def collective(
    name: str, start: float, length: float, group: str, seq: int, elements: int, ranks: list[int]
) -> dict:
    args = {
        "Collective name": name, "In msg nelems": elements, "Out msg nelems": elements,
        "Group size": len(ranks), "dtype": "Float", "Process Group Name": group, "Seq": seq,
        "Process Group Ranks": str(ranks), "Process Group Description": "default_pg",
    }  # fmt: skip
    kind = {"allreduce": "AllReduce_Sum_f32_RING_LL", "_allgather_base": "AllGather_RING_LL"}[name]
    return kernel(f"ncclDevKernel_{kind}(ncclDevKernelArgsStorage<4096ul>)", start, length, **args)


def device_trace(rank: int, events: list[dict], host: str = "gpu0", world: int = 4) -> dict:
    info = {"backend": "nccl", "rank": rank, "world_size": world}
    return {"distributedInfo": info, "host_name": host, "baseTimeNanoseconds": 10**18,
            "traceEvents": events}  # fmt: skip


def device_job(late=(0.0, 0.003, 0.0, 0.0), launch=(0.0, 0.0, 0.0, 0.0), calls=10, host="gpu0"):
    """Traces of four ranks: compute, then an all-reduce of 1 ms; pairs all-gather between."""
    events = [[] for _ in range(RANKS)]
    now = 1.0
    for seq in range(calls):
        ready = [now + 0.01 + late[rank] + launch[rank] for rank in range(RANKS)]
        for rank in range(RANKS):
            work = 0.01 + late[rank]
            events[rank].append(kernel("gemm", now, work))
            args = ("allreduce", ready[rank], max(ready) + 0.001 - ready[rank])
            events[rank].append(collective(*args, "0", seq, 250_000, [0, 1, 2, 3]))
        now = max(ready) + 0.001
        for pair in ([0, 1], [2, 3]):
            for rank in pair:
                args = ("_allgather_base", now, 0.0005, f"{1 + pair[0] // 2}")
                events[rank].append(collective(*args, seq, 500, pair))
        now += 0.001
    return [device_trace(rank, own, host) for rank, own in enumerate(events)]


# ---- a job of one all-reduce after another, whose figures are known

CALLS, LATE, DELAY, MOVE = 20, 2, 0.003, 0.001
NCCL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def facts(number=None, name="allreduce", group="0", members=(0, 1, 2, 3), **more):
    said = {"Collective name": name, "In msg nelems": 1000, "Out msg nelems": 1000,
            "Group size": len(members), "dtype": "Float", "Process Group Name": group,
            "Process Group Ranks": str(list(members)), **more}  # fmt: skip
    return said if number is None else {**said, "Seq": number}


def job(name=NCCL, late=LATE, numbered=True, ranks=RANKS, args=facts):
    """Rank `late` begins 3 ms after the others, and each call ends 1 ms after that."""
    return [
        device_trace(rank, [
            kernel(name, 1.0 + 0.01 * call + DELAY * (rank == late),
                   MOVE + DELAY * (rank != late), **args(call if numbered else None))
            for call in range(CALLS)
        ], world=ranks)
        for rank in range(ranks)
    ]  # fmt: skip


def stored(folder, traces):
    folder.mkdir(parents=True, exist_ok=True)
    for rank, trace in enumerate(traces):
        store(folder, rank, trace)
    return folder


def check(trace, calls=CALLS, late=LATE, collective="allreduce"):
    """The job's figures, for the calls that are known on all ranks."""
    found = analyse(trace)
    assert {trace.words[each] for group in trace.groups for each in group.collective} == {
        collective
    }
    assert found.ranks.calls.tolist() == [calls] * trace.ranks
    assert found.ranks.last.tolist() == [calls * (rank == late) for rank in range(trace.ranks)]
    waiting = [calls * DELAY * (rank != late) for rank in range(trace.ranks)]
    np.testing.assert_allclose(found.ranks.waiting, waiting, atol=1e-6)


def remark(trace, words):
    """The one remark with these words."""
    (found,) = [each for each in trace.remarks if words in each]
    return found
