"""The last records of growing files with messages: they are matched as in the whole trace."""

import numpy as np
import pytest
from latecomer.report.trace import native_file as native
from latecomer.report.trace import read, tail
from latecomer.report.watch import window
from latecomer.report.watch.sentences import sentence
from latecomer.report.watch.watcher import Watcher
from latecomer.report.watch.window import Window
from trace_helpers import Files
from watch_helpers import loop

RANKS, TAGS = 3, 2


class Messages(Files):
    """Messages of one communicator, as they were completed."""

    def write_messages(self, folder, made):
        """`made`: of each rank, dicts of the words of `message`, in the order of completion."""
        folder.mkdir(exist_ok=True)
        bodies = []
        for rank in range(self.ranks):
            header, fixed = self.header(rank), [*self.texts(), self.communicator(rank)]
            own = [self.message(rank, **each) for each in made[rank]]
            header["messages"], header["used"], header["end"] = 1, len(fixed), 0
            body = b"".join(each.tobytes() for each in (*fixed, *own))
            (folder / f"rank-{rank}.trace").write_bytes(header.tobytes() + body)
            bodies.append(len(own))
        return bodies


def random_messages(rng, count):
    """Sends and receives that MPI matches, which some ranks complete in another order."""
    made = [[] for _ in range(RANKS)]
    orders = [0] * RANKS
    for number in range(count):
        source, target = rng.choice(RANKS, 2)  # itself, too: those are left out
        tag = int(rng.integers(TAGS)) if rng.random() < 0.9 else number  # tags without end
        for what, rank, peer in ((0, source, target), (4, target, source)):
            made[rank].append(
                {
                    "order": orders[rank],
                    "what": what,
                    "peer": peer,
                    "size": number,
                    "begin": number + 0.5 * (what > 0),
                    "took": 0.25,
                    "tag": tag,
                }
            )
            orders[rank] += 1
    for own in made:  # requests that are completed later, by up to four messages
        keys = np.arange(len(own)) + rng.uniform(0, 4, len(own))
        own[:] = [own[at] for at in np.argsort(keys)]
    return made


class Tagged(Messages):
    def message(self, rank, order, *, tag, **words_of):
        record = super().message(rank, order, **words_of)
        record["tag"] = tag
        return record


def pairs(trace):
    """Each message by its sender's and its receiver's times: those are of one message alone."""
    send, receive = trace.messages.send, trace.messages.receive
    zero = round(trace.started - Files.STARTED)
    return {
        (int(s), int(r)) for s, r in zip(send.posted + zero, receive.posted + zero, strict=True)
    }


@pytest.mark.parametrize("seed", range(6))
def test_windows_match_messages_as_the_whole_trace_does(tmp_path, seed, monkeypatch):
    print("seed", seed)
    monkeypatch.setattr(window, "MOST_RECORDS", 60 * RANKS)
    monkeypatch.setattr(window, "LEAST_RECORDS", 8)
    monkeypatch.setattr(tail, "LEAST", 20)
    rng = np.random.default_rng(seed)
    made = random_messages(rng, 400)
    folder = tmp_path / "trace"
    counts = Tagged(RANKS).write_messages(folder, made)
    paths = [folder / f"rank-{rank}.trace" for rank in range(RANKS)]
    fixed = int(np.fromfile(paths[0], native.HEADER, 1)["used"][0])
    shown, kept = [0] * RANKS, []
    window_of = Window(folder)
    while shown != counts:
        for rank, path in enumerate(paths):
            shown[rank] = min(counts[rank], shown[rank] + int(rng.integers(60)))
            with path.open("r+b") as file:
                header = np.frombuffer(file.read(native.HEADER.itemsize), native.HEADER).copy()
                header["used"] = fixed + shown[rank]
                file.seek(0)
                file.write(header.tobytes())
        seen = window_of.look(0.0)
        assert all(len(each.recent) <= 60 for each in seen.tails.values())
        if seen.found:
            kept.append(pairs(seen.found.trace))
    left = [each.left_out for each in seen.tails.values()]
    window_of.close()
    whole = read(folder)
    assert len(whole.messages) == sum(
        each["what"] == 0 and each["peer"] != rank for rank, own in enumerate(made) for each in own
    )
    assert all(each <= pairs(whole) for each in kept)
    assert len(kept[-1]) > 10
    # Messages that the two sides have left out alike are not counted any more.
    assert sum(map(len, left)) < 30


def test_messages_whose_other_side_is_in_no_file_are_left_out(tmp_path, monkeypatch):
    """Their ranks are in no communicator, or their communicator has no record."""

    class Odd(Tagged):
        def message(self, rank, order, *, communicator, **words_of):
            record = super().message(rank, order, **words_of)
            record["communicator"] = communicator
            return record

    monkeypatch.setattr(window, "MOST_RECORDS", 10 * RANKS)
    monkeypatch.setattr(window, "LEAST_RECORDS", 8)
    monkeypatch.setattr(tail, "LEAST", 8)
    rng = np.random.default_rng(1)
    made = [[{**each, "communicator": 0, "order": 3 * each["order"]} for each in own]
            for own in random_messages(rng, 100)]  # fmt: skip
    for own in made:
        for at, (peer, communicator) in enumerate(((9, 0), (1, 5))):
            own[:0] = [{"order": 3 * each + at + 1, "what": 0, "peer": peer, "size": 1, "tag": 0,
                        "begin": 0.0, "took": 0.01, "communicator": communicator}
                       for each in range(10)]  # fmt: skip
    counts = Odd(RANKS).write_messages(tmp_path / "trace", made)
    for rank, count in enumerate(counts):
        path = tmp_path / "trace" / f"rank-{rank}.trace"
        raw = bytearray(path.read_bytes())
        np.frombuffer(raw, native.HEADER, 1)["used"] += count
        path.write_bytes(raw)
    with Watcher(tmp_path / "trace", lambda: 0.0, lambda: Files.STARTED) as watcher:
        seen = watcher.look().seen
    assert not seen.why
    assert all(each.left_out for each in seen.tails.values())
    found = pairs(seen.found.trace)
    assert len(found) > 3
    assert all(sent == received for sent, received in found)


def handed_on(folder):
    """Rank 1 is late for all others, since it waits for rank 0's message each time.

    Returns the end of the job.
    """
    files = Messages(3)
    work = np.full((600, 3), 0.01)
    work[:, 0], work[:, 1] = 0.03, 0.031  # rank 1 gets its message when rank 0 has worked
    arrival, leave = loop(work)
    files.write(folder, arrival, leave)
    for rank in range(3):
        path = folder / f"rank-{rank}.trace"
        raw = path.read_bytes()
        header = np.frombuffer(raw, native.HEADER, 1).copy()
        records = [raw[at : at + 64] for at in range(native.HEADER.itemsize, len(raw), 64)]
        fixed, calls = records[:-600], records[-600:]
        body = list(fixed)
        for step, call in enumerate(calls):
            begin = 0.0 if step == 0 else leave[step - 1, rank]
            start = begin + 0.01 if rank else arrival[step, 0] - 0.0005
            until = arrival[step, rank] - (0.0005 if rank == 1 else 0.0002)
            if rank < 2:
                body.append(files.message(rank, step, what=4 * rank, peer=1 - rank, begin=start,
                                          took=until - start).tobytes())  # fmt: skip
            body.append(call)
        header["messages"], header["used"], header["end"] = 1, len(body), 0
        path.write_bytes(header.tobytes() + b"".join(body))
    return float(leave.max())


def test_a_victim_is_not_named(tmp_path):
    end = handed_on(tmp_path)
    with Watcher(tmp_path, lambda: 0.0, lambda: Files.STARTED + end) as watcher:
        view = watcher.look()
    assert view.late == (0,)
    assert view.now.waits[1] > 0.3


@pytest.mark.parametrize("full", [False, True])
def test_without_room_for_messages_nobody_is_named(tmp_path, full):
    """Else it would be the victim: of the messages it waits for there are no records."""
    end = handed_on(tmp_path)
    for rank in range(2):
        path = tmp_path / f"rank-{rank}.trace"
        raw = bytearray(path.read_bytes())
        header = np.frombuffer(raw, native.HEADER, 1)
        header["first_lost"], header["messages_lost"] = 900, 800
        header["limit"] = len(raw) * 4 // 3 if full else 4 * len(raw)
        path.write_bytes(raw)
    with Watcher(tmp_path, lambda: 0.0, lambda: Files.STARTED + end) as watcher:
        view = watcher.look()
    if full:
        assert sentence(view).startswith("Nobody is named: the files of ranks 0 and 1 are full")
    assert view.late == (() if full else (0,))


def test_a_program_that_makes_messages_alone_after_its_first_collectives(tmp_path):
    """These are not kept, so that the last seconds are many steps, and not a single one."""
    files, folder, steps = Files(3), tmp_path / "trace", 600
    calls = 0.001 * (1 + np.repeat(np.arange(4.0)[:, None], 3, axis=1))
    files.write(folder, calls, calls + 0.0005)
    for rank in range(3):
        path = folder / f"rank-{rank}.trace"
        raw = path.read_bytes()
        header, body = np.frombuffer(raw, native.HEADER, 1).copy(), [raw[native.HEADER.itemsize :]]
        for step in range(steps):
            for what, peer in ((0, (rank + 1) % 3), (4, (rank - 1) % 3)):
                begin = 0.01 + 0.03 * step + (0.029 if rank == 1 else 0.02)
                until = 0.01 + 0.03 * step + (0.0291 if what == 0 or rank == 1 else 0.0295)
                body.append(files.message(rank, 2 * step + what // 4, what=what, peer=peer,
                                          begin=begin, took=until - begin).tobytes())  # fmt: skip
        header["messages"], header["end"] = 1, 0
        header["used"] += 2 * steps
        path.write_bytes(header.tobytes() + b"".join(body))
    end = 0.01 + 0.03 * steps
    with Watcher(folder, lambda: 0.0, lambda: Files.STARTED + end) as watcher:
        view = watcher.look()
    assert view.late == (1,)
