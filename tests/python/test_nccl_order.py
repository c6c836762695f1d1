"""The plug-in of NCCL against a plain list of the events, which come in any order."""

import numpy as np
import pytest
from latecomer.report.trace import native_file
from latecomer.report.trace.left_out import LeftOut
from nccl_helpers import run


class Random:
    """A process whose events come in any order that NCCL could give them, some of them never."""

    def __init__(self, rng):
        self.rng, self.lines = rng, ["at 1000000000000"]
        self.now, self.offset = 10**12, None
        self.truth = {}  # by communicator: its operations, as (is it a collective, starts, stops)

    def say(self, *words):
        """A line at a later time, told by any thread."""
        self.now += int(self.rng.integers(1, 1000))
        self.lines += [f"at {self.now}", f"thread {self.rng.integers(3)}",
                       " ".join(map(str, words))]  # fmt: skip

    def device(self):
        return int(self.now + 10**15 + self.rng.integers(-500, 500))

    def play(self, comms=3, events=300):
        """The expected records of each communicator: (begin, end) of collectives, of messages."""
        for comm in range(comms):
            self.say("init", f"c{comm}", comm, "-", 4, 0)
            self.truth[comm] = []
        ready, open_ops = [], 0
        for _ in range(events):
            if not ready or (open_ops < 40 and self.rng.random() < 0.2):
                ready += self._begin(int(self.rng.integers(comms)))
                open_ops += 1
            else:
                do, *words = ready.pop(int(self.rng.integers(len(ready))))
                if self.rng.random() < 0.9:  # else it is never told
                    ready += do(*words)
        for comm in range(comms):
            self.say("finalize", f"c{comm}")
        for do, *words in ready:  # too late
            do(*words, late=True)
        return {comm: self._expected(own) for comm, own in self.truth.items()}

    def _begin(self, comm):
        own, channels = self.truth[comm], int(self.rng.integers(1, 4))
        name, starts, stops = f"o{comm}x{len(own)}", [], {}
        collective = bool(self.rng.random() < 0.6)
        kind = ("coll", "AllReduce", 0) if collective else ("p2p", "Recv", 1)
        self.say(kind[0], name, f"c{comm}", kind[1], 8, "ncclInt8", channels, kind[2])
        own.append((collective, starts, stops))
        return [(self._start, name, comm, channel, starts, stops) for channel in range(channels)]

    def _start(self, name, comm, channel, starts, stops, *, late=False):
        time = self.device()
        self.say("kernel", f"{name}k{channel}", name, f"c{comm}", channel, time)
        if late:
            return []
        if self.offset is None:
            self.offset = self.now - time
        starts.append(time)
        return [(self._stop, name, channel, stops)] * int(self.rng.integers(1, 3))

    def _stop(self, name, channel, stops, *, late=False):
        time = self.device() + 1000
        self.say("done", f"{name}k{channel}", time)
        self.say("stop", f"{name}k{channel}")
        if not late:
            stops.setdefault(channel, time)
        return []

    def _expected(self, own):
        calls, messages, last = [], [], 0
        for collective, starts, stops in own:
            if not starts or not stops:
                continue
            begin, end = min(starts) + self.offset, max(stops.values()) + self.offset
            if collective:
                begin = max(begin, last)
                last = end = max(begin, end)
                calls.append((begin, end))
            else:
                messages.append((begin, max(begin, end)))
        return calls, messages


@pytest.mark.parametrize("seed", range(12))
def test_events_in_any_order_against_a_plain_list_of_them(tmp_path, seed):
    print("seed", seed)
    made = Random(np.random.default_rng(seed))
    expected = made.play()
    run(made.lines, tmp_path / "trace", ranks=4, rank=0, version=4 + seed % 3)
    (file,) = native_file.read([tmp_path / "trace" / "rank-0.trace"], left := LeftOut())
    assert not left.remarks()
    raw = (tmp_path / "trace" / "rank-0.trace").read_bytes()[native_file.HEADER.itemsize :]
    calls = np.frombuffer(raw, native_file.CALL)
    calls = calls[calls["kind"] == native_file.A_CALL]
    for comm, (collectives, messages) in expected.items():
        found = calls[calls["communicator"] == comm][["arrival", "exit"]].tolist()
        assert found == collectives
        own = file.messages[file.messages["communicator"] == comm]
        assert own[["begin", "end"]].tolist() == messages
        assert (np.diff(own["order"].astype(int)) > 0).all()
