"""Hostile pickles do nothing, in little memory and time; plain ones are read as they are."""

import os
import pickle
import struct
import tracemalloc

import numpy as np
import pytest
from latecomer.report.trace import plain_pickle
from latecomer.report.trace.plain_pickle import PickleError, load


class Hostile:
    def __reduce__(self):
        return os.system, ("touch hostile",)


def plain(rng, depth=4):
    """A random plain value."""
    kind = rng.integers(12 if depth else 8)
    leaves = (None, True, False, int(rng.integers(-(1 << 62), 1 << 62)), int(rng.integers(300)),
              float(rng.random()), "\ud7ff text" * int(rng.integers(99)), b"\0\xff" * 200)  # fmt: skip
    if kind < 8:
        return leaves[kind]
    parts = [plain(rng, depth - 1) for _ in range(rng.integers(5))]
    if kind == 8:
        return tuple(parts)
    return parts if kind == 9 else {f"{at}": each for at, each in enumerate(parts)}


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_plain_values_are_read_as_the_standard_library_reads_them(protocol):
    rng = np.random.default_rng(protocol)
    for _ in range(200):
        value = plain(rng)
        if isinstance(value, bytes) or b"\0\xff" in pickle.dumps(value, 3):
            protocol = max(protocol, 3)  # the second one makes bytes by a call
        assert load(pickle.dumps(value, protocol)) == (value, "")


def test_shared_and_endless_values():
    shared = ["x"]
    endless = [shared, shared]
    endless.append(endless)
    found, _ = load(pickle.dumps(endless))
    assert found[0] is found[1]
    assert found[2] is found


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("value", [Hostile(), {1, 2}, 1j, os.system, np.float64(1), range(3)])
def test_whatever_is_no_plain_value_is_refused_and_not_made(tmp_path, monkeypatch, value, protocol):
    monkeypatch.chdir(tmp_path)
    for around in (value, [value], {"entries": [{"frames": value}]}):
        with pytest.raises(PickleError, match="which plain values do not need"):
            load(pickle.dumps(around, protocol))
    assert list(tmp_path.iterdir()) == []


SYSTEM = b"cposix\nsystem\n(S'touch hostile'\ntR."


@pytest.mark.parametrize("raw", [
    b"\x80\x02" + SYSTEM,
    b"\x80\x02}X\x07\x00\x00\x00entries" + SYSTEM[:-1] + b"s.",
    b"\x80\x02(S'touch hostile'\nios\nsystem\n.",
    b"\x80\x04\x8c\x05posix\x8c\x06system\x93\x8c\x02ls\x85R.",
    b"\x80\x02\x82\x01.", b"\x80\x02c__main__\nHostile\n)\x81.", b"\x80\x02Pid\n.", b"\x80\x02]Q.",
    b"\x80\x05\x97.", b"\x80\x05\x96" + struct.pack("<Q", 1) + b"x.",
], ids=range(10))  # fmt: skip
def test_operations_that_import_or_call(tmp_path, monkeypatch, raw):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PickleError, match="which plain values do not need"):
        load(raw)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("raw", "words"), [
    (b"\x80\x02" + b"(" * 1000, "containers in each other"),
    (b"\x80\x02\x8b" + struct.pack("<i", 100_000) + b"\x7f" * 100_000 + b".", "an integer of"),
    (b"\x80\x02.", "without what it needs"), (b"\x80\x02a.", "without what it needs"),
    (b"\x80\x02]a.", "without what it needs"), (b"\x80\x02h\x07.", "without what it needs"),
    (b"\x80\x02Na.", "without what it needs"), (b"\x80\x02K\x01K\x02a.", "without what it needs"),
    (b"\x80\x02e.", "without what it needs"), (b"\x80\x02t.", "without what it needs"),
    (b"\x80\x02q\x00.", "without what it needs"), (b"\x80\x02}]K\x01s.", "plain dictionary"),
    (b"\x80\x02}(K\x01u.", "plain dictionary"), (b"\x80\x02](K\x01K\x02u.", "plain dictionary"),
    (b"\x80\x02}))K\x01s.", "plain dictionary"),
], ids=range(15))  # fmt: skip
def test_what_is_out_of_bounds_or_place_is_refused(raw, words):
    with pytest.raises(PickleError, match=words):
        load(raw)


def test_a_deep_value_is_read_and_dropped():
    found, ended = load(b"\x80\x02" + b"]" * 100_000 + b"a" * 99_999 + b".")
    assert len(found) == 1
    assert ended == ""
    del found


@pytest.mark.parametrize("raw", [
    b"\x80\x02]r\xff\xff\xff\x7f.",  # a place in a table of 2^31
    b"\x80\x04\x95" + struct.pack("<Q", 1 << 62) + b"N.",  # a frame
    b"\x80\x04\x8d" + struct.pack("<Q", 1 << 40) + b"x.",  # a text
    b"\x80\x04\x8e" + struct.pack("<Q", 1 << 63) + b"x.",  # bytes
    b"\x80\x02X\xff\xff\xff\xffx.",
    # Ten lists of ten lists of ...
    b"\x80\x02]q\x00" + b"".join(b"](" + b"h" + bytes([at]) + (b"h" + bytes([at])) * 9 + b"eq"
                                 + bytes([at + 1]) for at in range(60)) + b".",
], ids=range(6))  # fmt: skip
def test_small_pickles_take_little_memory(raw):
    tracemalloc.start()
    try:
        load(raw)
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()


def test_long_pickles_end(monkeypatch):
    monkeypatch.setattr(plain_pickle, "MOST_OPERATIONS", 1000)
    with pytest.raises(PickleError, match="more than 1000 operations"):
        load(b"\x80\x02" + b"N" * 2000 + b".")


def test_every_cut_leaves_the_begin():
    value = {"a": [{"b": at, "c": (1, "x" * at)} for at in range(9)], "d": [[1], [2]]}
    raw = pickle.dumps(value, 2)
    lengths = []
    for end in range(len(raw)):
        found, ended = load(raw[:end])
        assert ended
        whole = found.get("a", []) if isinstance(found, dict) else []
        assert all(each == value["a"][at] for at, each in enumerate(whole[:-1]))
        lengths.append(len(whole))
    assert lengths == sorted(lengths)
    assert lengths[-1] == 9
