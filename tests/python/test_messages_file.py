"""Messages in files: what is wrong is left out and counted, and the rest stays."""

import numpy as np
import pytest
from fuzz_helpers import damaged
from latecomer.report.trace import native_file, read
from latecomer.report.trace import native_file as native
from latecomer.report.trace.left_out import LeftOut
from trace_helpers import ZERO, Files, arrivals_and_exits

FIVE = 5


@pytest.fixture
def folder(tmp_path):
    """A trace of two ranks, whose rank 1 has five messages besides its calls."""
    files = Files(2)
    files.write(tmp_path / "trace", *arrivals_and_exits(12, 2))
    path = tmp_path / "trace" / "rank-1.trace"
    messages = [files.message(1, order, what=order) for order in range(FIVE)]
    raw = bytearray(path.read_bytes() + b"".join(each.tobytes() for each in messages))
    header = np.frombuffer(raw, native.HEADER, 1)
    header["used"] += FIVE
    header["messages"], header["messages_lost"], header["first_lost"] = 1, 7, 4
    path.write_bytes(raw)
    return tmp_path / "trace"


def read_one(folder):
    left = LeftOut()
    (file,) = native_file.read([folder / "rank-1.trace"], left)
    return file, left.remarks()


def counts(file):
    """Of the calls that follow each other, and of those that another one completed."""
    comms = file.comms.values()
    return sum(comm.calls for comm in comms), sum(comm.overlapping for comm in comms)


def patched(folder, dtype, at, field, value):
    """Writes a value into the record of that place, from the end."""
    path = folder / "rank-1.trace"
    raw = bytearray(path.read_bytes())
    np.frombuffer(raw, dtype, 1, offset=len(raw) - 64 * at)[field] = value
    path.write_bytes(raw)
    return len(raw) - 64 * at + dtype.fields[field][1]


def test_messages_are_read(folder):
    file, remarks = read_one(folder)
    assert remarks == []
    assert (file.messages_traced, file.messages_lost, file.messages_whole) == (True, 7, 3)
    assert file.messages["what"].tolist() == [0, 1, 2, 3, 4]
    assert counts(file) == (12, 0)
    assert len(read(folder).groups[0]) == 12  # other readers go on


def test_messages_are_known_until_there_is_no_room(folder):
    assert read(folder).messages.until == np.inf  # one is lost for another reason
    path = folder / "rank-1.trace"
    raw = bytearray(path.read_bytes())
    header = np.frombuffer(raw, native.HEADER, 1)
    header["limit"] = len(raw)
    path.write_bytes(raw)
    assert 0 < read(folder).messages.until < 1


def test_a_file_without_messages_says_so(tmp_path):
    folder = Files(2).write(tmp_path / "trace", *arrivals_and_exits(12, 2))
    file, remarks = read_one(folder)
    assert (file.messages_traced, file.messages_lost, len(file.messages)) == (False, 0, 0)
    assert remarks == []


WRONG = [
    ("communicator", 5, "communicator of a message: 5"),
    ("what", 6, "what of a message: 6"),
    ("flags", 32, "flags of a message: 32"),
    ("peer", 2, "peer of a message: 2"),
    ("peer", -1, "peer of a message: -1"),
    ("tag", -1, "tag of a message: -1"),
    ("bytes", -1, "bytes of a message: -1"),
    ("posted", -(1 << 63), "posted of a message: -9223372036854775808"),
    ("posted", (1 << 63) - 1, "posted of a message: 9223372036854775807"),
    ("begin", (1 << 63) - 1, "begin of a message: 9223372036854775807"),
    ("begin", ZERO, f"begin of a message: {ZERO}"),
    ("end", (1 << 63) - 1, "end of a message: 9223372036854775807"),
    ("end", ZERO, f"end of a message: {ZERO}"),
    ("end", ZERO + 10**12, "in the time that the file tells, with its end"),
    ("order", 1, "order of a message: 1"),
    ("between", 1, "between of a message: 1"),
    ("between", -1, "between of a message: -1"),
    ("kind", 10, "kind of record: 10"),
]


@pytest.mark.parametrize(("field", "value", "words"), WRONG)
def test_what_is_wrong_is_left_out_and_named_with_its_place(folder, field, value, words):
    offset = patched(folder, native.MESSAGE, 1, field, value)
    file, (remark,) = read_one(folder)
    assert words in remark
    if field != "end":
        assert f"byte {offset}" in remark
    assert file.messages_whole == (1 if field == "order" else 3)
    assert len(file.messages) == FIVE - 1
    assert counts(file) == (12, 0)


def with_others(folder, count, **words):
    """Rank 1 has so many other calls, too."""
    path = folder / "rank-1.trace"
    record = Files(2).other(1, **words).tobytes()
    raw = bytearray(path.read_bytes() + count * record)
    np.frombuffer(raw, native.HEADER, 1)["used"] += count
    path.write_bytes(raw)


def test_other_calls_are_read(folder):
    with_others(folder, 3)
    file, remarks = read_one(folder)
    assert remarks == []
    assert len(file.others) == 3
    others = read(folder).others
    assert set(others.rank.tolist()) == {1}
    for column, value in ((others.begin, 0.15), (others.end, 0.2), (others.idle, 0.14)):
        np.testing.assert_allclose(column, value)


@pytest.mark.parametrize(("field", "value", "words"), [
    ("begin", -(1 << 63), "begin of a time in other calls"),
    ("end", ZERO, "inside of a time in other calls: 50000000"),
    ("end", ZERO + 10**12, "in the time that the file tells, with its end"),
    ("end", (1 << 63) - 1, "end of a time in other calls"),
    ("inside", -1, "inside of a time in other calls: -1"),
    ("inside", 10**8 + 1, "inside of a time in other calls: 100000001"),
    ("between", -1, "between of a time in other calls: -1"),
    ("between", 5 * 10**7 + 1, "between of a time in other calls: 50000001"),
])  # fmt: skip
def test_other_calls_that_are_wrong_are_left_out(folder, field, value, words):
    with_others(folder, 3)
    patched(folder, native.OTHER, 1, field, value)
    file, (remark,) = read_one(folder)
    assert words in remark
    assert len(file.others) == 2
    assert len(file.messages) == FIVE


def test_a_message_without_a_place_stays(folder):
    patched(folder, native.MESSAGE, 1, "site", 99)
    file, (remark,) = read_one(folder)
    assert "words of messages whose site is not the number of a text (1)" in remark
    assert len(file.messages) == FIVE


def test_calls_that_another_one_completed_may_overlap(folder):
    last = FIVE + 1
    patched(folder, native.CALL, last, "overlaps", 1)
    patched(folder, native.CALL, last, "arrival", ZERO + 1)
    file, remarks = read_one(folder)
    assert remarks == []
    assert counts(file) == (11, 1)
    assert len(file.completions) == 0
    patched(folder, native.CALL, last, "overlaps", 2)
    file, (remark,) = read_one(folder)
    assert "overlaps of a call: 2" in remark
    assert counts(file) == (11, 0)


@pytest.mark.parametrize("seed", range(4))
def test_damaged_messages_are_read_or_left_out(folder, seed):
    """The records that they rest on stay."""
    path, rng = folder / "rank-1.trace", np.random.default_rng(seed)
    raw = path.read_bytes()
    head, records = raw[: -64 * FIVE], raw[-64 * FIVE :]
    read = 0
    for _ in range(100):
        path.write_bytes(head + damaged(records, rng))
        try:
            file, _ = read_one(folder)
        except ValueError:  # a message became a communicator of too many ranks
            continue
        read += 1
        assert (file.messages["end"] >= file.messages["posted"]).all()
        assert set(file.messages["peer"].tolist()) <= {0, 1}
        assert len(set(file.messages["order"].tolist())) == len(file.messages)
    assert read > 50
