"""Jobs that use NCCL, played to the profiler plug-in by tests/nccl/host.cpp, and their true times.

Each process has clocks of its own: the host's and the device's, which are apart by anything and
drift. The script of a process is in the order of the host's time.
"""

import os
import subprocess
from dataclasses import dataclass, field

import numpy as np
from install_helpers import BUILD
from latecomer.core.compiled import core
from latecomer.report.trace import Words, native_file
from latecomer.report.trace.left_out import LeftOut

PLUGIN, HOST = BUILD / "liblatecomer_nccl.so", BUILD / "nccl_host"
CALENDAR = 1_764_180_000 * 10**9  # nanoseconds since 1970: the job's begin
LAG_NS = 40_000  # from what the device does until NCCL's thread tells of it
CHANNELS = 2


def run(script, folder, *, version=5, ranks=None, rank=None, **variables):
    """The output and errors of one process. A launcher says its rank, if one is given."""
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("LATECOMER_", "OMPI_", "PMI_", "SLURM_", "RANK", "WORLD_"))
    }
    if rank is not None:
        clean |= {"RANK": str(rank), "WORLD_SIZE": str(ranks)}
    if folder is not None:
        clean["LATECOMER_TRACE"] = str(folder)
    done = subprocess.run([HOST, PLUGIN, str(version)], input="\n".join(script), text=True,
                          capture_output=True, timeout=600, check=False,
                          env=clean | variables)  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


@dataclass
class Clock:
    """A process's clocks: nanoseconds of the true time, in seconds."""

    host: int = 10**12
    device: int = 10**15
    drift: float = 0.0  # of the device's

    def of_host(self, seconds):
        return self.host + round(1e9 * seconds)

    def of_device(self, seconds):
        return self.device + round(1e9 * seconds * (1 + self.drift))

    @classmethod
    def apart(cls, rng):
        return cls(int(rng.integers(10**12, 10**13)), int(rng.integers(10**15, 10**18)),
                   float(rng.uniform(-20e-6, 20e-6)))  # fmt: skip


@dataclass
class Op:
    """One rank's part of a collective or a message, in true seconds."""

    comm: str
    what: str  # as in AllReduce, Send
    begin: float
    end: float
    number: int = 0  # of the collective on the communicator
    peer: int = -1
    asked: float | None = None  # when the host handed it to the device; before `begin`
    channels: tuple[int, ...] = (0, 1)
    group: str = ""  # a name of one that is carried out by one kernel; else it has its own


@dataclass
class Process:
    """The script of one rank. Its thread 0 hands work to the device, thread 1 looks after that."""

    rank: int
    clock: Clock = field(default_factory=Clock)
    lines: list[tuple[float, int, int, str]] = field(default_factory=list)
    ops: list[Op] = field(default_factory=list)
    groups: set[str] = field(default_factory=set)

    def say(self, time, *words, thread=0):
        """Add a line, at this true time."""
        self.lines.append((time, len(self.lines), thread, " ".join(map(str, words))))

    def add(self, op, *, count=1024, lost=(), stateless=(), late=0.0, root=0, thread=0):
        """Add what NCCL tells of an operation: of its channels, no stop is told of those `lost`, and
        no time of the device of those `stateless`. Stops come later by `late` seconds."""
        self.ops.append(op)
        name = f"e{len(self.ops)}"
        asked = op.begin - 1e-4 if op.asked is None else op.asked
        kind, last = ("p2p", op.peer) if op.peer >= 0 else ("coll", root)
        group = f"g{op.group or name}"
        if group not in self.groups:
            self.groups.add(group)
            self.say(asked - 1e-6, "group", group, op.comm, thread=thread)
            self.say(asked + 2e-6, "stop", group, thread=thread)
        self.say(asked, kind, name, op.comm, op.what, count, "ncclFloat32", len(op.channels), last,
                 group, thread=thread)  # fmt: skip
        self.say(asked + 1e-6, "stop", name, thread=thread)
        lag = 1e-9 * LAG_NS
        for at, channel in enumerate(op.channels):
            own = f"{name}c{channel}"
            begin = self.clock.of_device(op.begin) + 200 * at
            end = self.clock.of_device(op.end) - 100 * (len(op.channels) - 1 - at)
            self.say(op.begin + lag, "kernel", own, name, op.comm, channel, begin, thread=1)
            if channel not in lost:
                if channel not in stateless:
                    self.say(op.end + lag + late, "done", own, end, thread=1)
                self.say(op.end + lag + late, "stop", own, thread=1)

    def script(self):
        """The lines in the order of time, each at its time on the host's clock."""
        yield f"calendar {CALENDAR - self.clock.host}"
        for time, _, thread, line in sorted(self.lines):
            yield f"at {self.clock.of_host(time)}"
            yield f"thread {thread}"
            yield line


def play(folder, processes, **more):
    """Play all processes, one after the other. Their errors."""
    told = [run(each.script(), folder, ranks=len(processes), rank=each.rank, **more)[1]
            for each in processes]  # fmt: skip
    return [line for each in told for line in each.splitlines()]


def loop(rng, ranks, calls, late, *, work=0.02, moving=1e-4):
    """Arrivals and exits: rank `late` computes twice as long as the others."""
    arrival, leave = np.empty((calls, ranks)), np.empty((calls, ranks))
    clock = np.full(ranks, 0.5)
    for call in range(calls):
        own = work * (1 + 0.05 * rng.random(ranks))
        own[late] *= 2
        arrival[call] = clock + own
        leave[call] = clock = arrival[call].max() + moving * (1 + 0.1 * rng.random(ranks))
    return arrival, leave


def looping(arrival, leave, clocks, *, comm="w"):
    """The processes of a job of one communicator: of shape (calls, ranks)."""
    found = []
    for rank in range(arrival.shape[1]):
        own = Process(rank, clocks[rank])
        own.say(0.1, "init", comm, 4711, "world", arrival.shape[1], rank)
        for call, (begin, end) in enumerate(zip(arrival[:, rank], leave[:, rank], strict=True)):
            own.add(Op(comm, "AllReduce", begin, end, call))
        own.say(leave.max() + 0.1, "finalize", comm)
        found.append(own)
    return found


def words_of(calls, *, comm="w", begin=1.0, rank=0, ranks=2, lost=(), **more):
    """A process with so many calls, 1 ms each; `lost`: those that the device does not finish."""
    own = Process(rank)
    own.say(0.1, "init", comm, 7, "all", ranks, rank)
    for call in range(calls):
        since = begin + 0.01 * call
        own.add(Op(comm, "AllReduce", since, since + 1e-3, call),
                lost=(0, 1) if call in lost else (), **more)  # fmt: skip
    return own


def untimed(count):
    """The line about calls without times."""
    return (f"latecomer: not in the trace: {count} of NCCL's calls, of which it was not told when "
            "the device began and ended them\n")  # fmt: skip


def sequences(folder):
    """By the communicator's number among those of its key, the calls that rank 0's file has."""
    (file, *_) = native_file.read([folder / "rank-0.trace"], LeftOut())
    return {
        comm.key[1]: core.match_calls([(numbered(file), comm.place)], False, 0)
        .columns(np.zeros(1, np.int64))["sequence"].tolist()
        for comm in file.comms.values()
    }  # fmt: skip


def numbered(file):
    """The compiled part of a file, whose texts are numbered."""
    file.number_texts(Words())
    return file.own
