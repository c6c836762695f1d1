"""Files of NCCL Inspector for tests, written as its documentation describes them."""

from __future__ import annotations

import json

# The order of the keys and the spaces are those of NCCL's inspector_json.cc and json.cc.
ID = "0x7f8c496ae9f661"


def line(rank, number, seconds, *, ranks=4, name="AllReduce", host="gpu0", pid=None, size=1 << 20,
         communicator=ID, source="kernel_gpu", **beside):  # fmt: skip
    """A call of one rank."""
    perf = {"coll": name, "coll_sn": number, "coll_msg_size_bytes": size,
            "coll_exec_time_us": int(1e6 * seconds), "coll_timing_source": source,
            "coll_algobw_gbs": 277.210914, "coll_busbw_gbs": 485.119099}  # fmt: skip
    record = {
        "header": {"id": communicator, "comm_name": "unknown", "rank": rank, "n_ranks": ranks,
                   "nnodes": 1},
        "metadata": {"inspector_output_format_version": "v4.0", "git_rev": "",
                     "rec_mechanism": "nccl_profiler_interface",
                     "dump_timestamp_us": 1748030377748202 + number, "hostname": host,
                     "pid": 100 + rank if pid is None else pid},
        "coll_perf": perf | beside,
    }  # fmt: skip
    return json.dumps(record, separators=(",", ":"))


def store(folder, lines, rank, host="gpu0"):
    """The file of one process."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{host}-pid{100 + rank}.log"
    path.write_text("".join(f"{each}\n" for each in lines))
    return path


def written(folder, arrival, leave, **about):
    """The job's calls, of arrays of shape (calls, ranks)."""
    ranks = arrival.shape[1]
    for rank in range(ranks):
        took = (leave - arrival)[:, rank].tolist()
        store(folder, [line(rank, at, each, ranks=ranks, **about) for at, each in enumerate(took)],
              rank)  # fmt: skip
    return folder
