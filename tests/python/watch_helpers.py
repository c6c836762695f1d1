"""Jobs that run in made-up trace files: what of them is there at a time."""

import numpy as np
from latecomer.report.trace import native_file as native
from latecomer.report.watch.watcher import Watcher
from trace_helpers import ZERO, Files


class Job:
    """Files of a whole run, shown as they were at a time in seconds."""

    def __init__(self, folder, arrival, leave, **words_of):
        self.arrival, self.leave = arrival, leave
        self.files = Files(arrival.shape[1], **words_of)
        self.folder = self.files.write(folder, arrival, leave)
        paths = [folder / f"rank-{rank}.trace" for rank in range(arrival.shape[1])]
        self.whole = {path: path.read_bytes() for path in paths}

    def at(self, time, *, ended=False):
        """Write the files anew in place, as the job does."""
        for rank, path in enumerate(self.whole):
            self.show(rank, path, time, ended=ended)

    def show(self, rank, path, time, *, ended=False):
        raw = bytearray(self.whole[path])
        header = np.frombuffer(raw, native.HEADER, 1)
        calls = int((self.leave[:, rank] <= time).sum())
        header["used"] -= len(self.leave) - calls
        begun = int((self.arrival[:, rank] <= time).sum())
        zero = ZERO + self.files.skew(rank)
        header["turn"] = 2 * (calls + begun + 1)
        if ended:
            header["end"] = zero + round(1e9 * time)
        else:
            header["end"] = 0
            inside = begun > calls
            left = self.leave[calls - 1, rank] if calls else 0.0
            since = self.arrival[calls, rank] if inside else left
            header["doing"], header["doing_name"] = (1, 2) if inside else (0, 0)
            header["doing_sequence"] = calls if inside else calls - 1
            header["since"] = zero + round(1e9 * since)
        if path.exists():
            with path.open("r+b") as file:
                file.write(raw)
        else:
            path.write_bytes(raw)

    def watcher(self):
        """Its clocks show the time that `looks` and `look` set."""
        self.time = 0.0
        return Watcher(self.folder, lambda: 1000 + self.time, lambda: Files.STARTED + self.time)

    def look(self, watcher, time, *, ended=False):
        """A look at that time."""
        self.time = time
        self.at(time, ended=ended)
        return watcher.look()


def loop(work, moving=0.001):
    """Arrivals and exits of a loop in which each rank computes so long before each call."""
    ends = np.cumsum(work.max(axis=1) + moving)
    starts = np.concatenate([[0.0], ends[:-1]])
    return starts[:, None] + work, np.repeat(ends[:, None], work.shape[1], axis=1)


def steps(rng, seconds, ranks, *, step=0.02):
    """Healthy work: each rank is longer by chance, by an eighth in the mean."""
    count = round(seconds / step)
    return step * (0.8 + rng.exponential(0.1, (count, ranks)))
