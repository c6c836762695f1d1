"""The plug-in of NCCL, given calls and values that NCCL would hardly give."""

import numpy as np
import pytest
from latecomer.core.compiled import core
from latecomer.report.trace import native_file
from latecomer.report.trace.left_out import LeftOut
from nccl_helpers import numbered, run, sequences, untimed, words_of


def test_odd_calls_do_no_harm(tmp_path):
    own = words_of(1)
    for at, line in enumerate([
        "init x 8 - 0 0", "init y 8 - 2 2", "init z 8 - 2 -1", "coll a x AllReduce 1 ncclInt8 2 0",
        "coll b w Odd 1 odd 0 -9", "kernel bk b w 200 9", "done bk -", "stop bk", "stop bk",
        "p2p c w Send 1 ncclInt8 1 5", "p2p d w Send 1 ncclInt8 1 -1", "kernel dk d w 0 1",
        "coll f w AllGather 99999999999999999999 ncclFloat8e4m3 1 0", "kernel fk f w 0 77",
        "done fk 80", "kernel fj fk w 0 1", "other g w 8", "other h w 4096", "fork",
        "coll i w AllReduce 16 ncclInt99999999999999999999 1 0", "kernel ik i w 0 99", "done ik 99",
    ]):  # fmt: skip
        own.say(2 + 0.001 * at, line)
    out, said = run(own.script(), tmp_path / "trace", ranks=2, rank=0)
    assert [line.split()[-2] for line in out.splitlines()] == ["4167,", "not", "not", "not"]
    assert said == untimed(1)  # the copy engines' one
    assert sequences(tmp_path / "trace") == {0: [0, 1, 2, 3]}


def test_a_rank_that_is_none_leaves_no_file(tmp_path):
    out, _ = run(["init x 8 - 0 0", "init y 8 - 2 2", "init z 8 - 2 -1"], tmp_path / "trace")
    assert [line[3:] for line in out.splitlines()] == ["mask 0, not recorded"] * 3
    assert not (tmp_path / "trace").exists()


@pytest.mark.parametrize("begin", [1, 2**63 - 1, 2**63, 2**64 - 1])
def test_the_clock_of_a_device_may_show_anything(tmp_path, begin):
    own = words_of(0)
    for call in range(2):
        own.say(1 + call, f"coll e{call} w AllReduce 1 ncclInt8 1 0")
        at = (begin + 10**9 * call) % 2**64
        own.say(1 + call, f"kernel k{call} e{call} w 0 {at}")
        own.say(1 + call, f"done k{call} {(at + 1000) % 2**64}")
    run(own.script(), tmp_path / "trace", ranks=2, rank=0)
    (file,) = native_file.read([tmp_path / "trace" / "rank-0.trace"], LeftOut())
    calls = core.match_calls([(numbered(file), 0)], False, 0)
    arrival, leave = calls.times(np.arange(2), np.zeros(1, np.int64))
    np.testing.assert_allclose(np.diff(arrival, axis=0), 1.0, atol=1e-8)
    np.testing.assert_allclose(leave - arrival, 1e-6, atol=1e-8)
