"""Dumps of PyTorch's flight recorder for tests, written as its documentation shows them."""

from __future__ import annotations

import json
import pickle

ZERO = 1724779239936775119  # nanoseconds since 1970: the example of PyTorch's documentation
FRAMES = [
    {"name": "all_reduce", "filename": "/opt/lib/torch/distributed/distributed_c10d.py",
     "line": 2696},
    {"name": "step", "filename": "/home/user/train.py", "line": 31},
    {"name": "<module>", "filename": "/home/user/train.py", "line": 90},
]  # fmt: skip


def entry(number, arrival, leave=None, *, order=None, length=None, name="all_reduce", group="0",
          **beside):  # fmt: skip
    """A call; times in seconds, and `leave` None: it is not complete."""
    took = {} if length is None else {"duration_ms": 1e3 * float(length)}
    return {
        "frames": FRAMES, "record_id": number if order is None else order, "pg_id": 0,
        "process_group": (group, "default_pg" if group == "0" else "a part"),
        "collective_seq_id": number, "p2p_seq_id": 0, "op_id": number,
        "profiling_name": f"nccl:{name}", "time_created_ns": ZERO + round(1e9 * arrival),
        "input_sizes": [[512, 512]], "input_dtypes": ["Float"], "output_sizes": [[512, 512]],
        "output_dtypes": ["Float"], "state": "scheduled" if leave is None else "completed",
        "time_discovered_started_ns": None,
        "time_discovered_completed_ns": None if leave is None else ZERO + round(1e9 * leave),
        "retired": leave is not None, "timeout_ms": 600000, "is_p2p": False, **took, **beside,
    }  # fmt: skip


def dump(entries, ranks=4, groups=None):
    """What _dump_nccl_trace returns, unpickled; `groups`: their ranks, by name."""
    groups = {"0": list(range(ranks))} if groups is None else groups
    config = {name: {"name": name, "desc": "default_pg" if name == "0" else "a part",
                     "ranks": str(own)} for name, own in groups.items()}  # fmt: skip
    return {"version": "2.10", "pg_config": config, "nccl_version": "2.27.5",
            "pg_status": {"0": {"last_enqueued_collective": len(entries)}},
            "entries": entries}  # fmt: skip


def as_json(made):
    """As PyTorch writes JSON: keys in order, 0 for what is not known, no frames."""
    entries = [{key: 0 if value is None else value for key, value in each.items()
                if key != "frames"} for each in made["entries"]]  # fmt: skip
    return json.dumps(made | {"entries": entries}, sort_keys=True).encode()


def as_pickle(made):
    """As PyTorch's C++ writes it: by the second protocol."""
    return pickle.dumps(made, protocol=2)


def store(folder, dumps, write=as_pickle, ending=""):
    """One file a rank."""
    folder.mkdir(parents=True, exist_ok=True)
    for rank, made in enumerate(dumps):
        (folder / f"nccl_trace_rank_{rank}{ending}").write_bytes(write(made))
    return folder


def job(arrival, leave, *, timed=True, first=0):
    """Dumps of calls, of arrays of shape (calls, ranks); `first`: lost at the begin, of rank 0."""
    calls, ranks = arrival.shape
    return [
        dump([entry(call, arrival[call, rank], leave[call, rank],
                    length=leave[call, rank] - arrival[call, rank] if timed else None)
              for call in range(first if rank == 0 else 0, calls)], ranks)
        for rank in range(ranks)
    ]  # fmt: skip
