"""Samples are read without trust, and the statistics give answers known beforehand."""

import json

import pytest
from latecomer.core.compiled import core
from latecomer.lab.options.arrivals import Iteration, Pattern
from latecomer.lab.options.choose import Question
from latecomer.lab.results.samples import SampleError, read
from latecomer.lab.results.statistics import limit_of, summarise

SETTING = {"collective": "allreduce", "ranks": 2, "bytes": 8, "op": "sum", "arrival": "onelate",
           "estimate": "perfect", "network": "lab", "mpi": "some 1.0", "seed": 1}  # fmt: skip
HEADER = {
    "version": "0.1.0",
    "mpi": "Some MPI 1.0",
    "ranks": 2,
    "clock": "common",
    "algorithms": ["native", "ring"],
}


def sample(iteration: int, algorithm: str, arrival: list, exits: list, wrong: int = 0) -> dict:
    times = {"arrival": arrival, "exit": exits}
    return {"iteration": iteration, "algorithm": algorithm, "wrong": wrong, **times}


def written(path, *objects, header=HEADER, tail="") -> object:
    file = path / "samples"
    file.write_text("".join(json.dumps(o) + "\n" for o in (header, *objects)) + tail)
    return file


def rows_of(file, delays=(0.0, 0.1), limit=None):
    job = [Iteration(0.0, [0, 0])] + [Iteration(0.1, [0, 0.1])] * 3
    return summarise(read(file), job, delays, SETTING, limit)


# Balanced: 0.02 s. Late by 0.1 s: after the last arrival 10, 20 and 60 ms.
LATE = [
    sample(1, "ring", [0, 0.1], [0.11, 0.11]),
    sample(2, "ring", [0, 0.1], [0.11, 0.12], wrong=3),
    sample(3, "ring", [0, 0.1], [0.16, 0.14], wrong=4),
]
NATIVE = [sample(i, "native", [0, 0.1], [0.14, 0.14]) for i in (1, 2, 3)]
BALANCED = [sample(0, name, [0, 0], [0.02, 0.02]) for name in ("ring", "native")]


def test_known_answers(tmp_path):
    file = written(tmp_path, *BALANCED, *LATE, *NATIVE)
    ring = rows_of(file, limit=lambda arrivals: 0.05 * max(arrivals))[3]
    assert (ring.algorithm, ring.delay_ms, ring.iterations) == ("ring", 100, 3)
    # Elapsed, mean over both ranks: 60, 65 and 100 ms.
    assert ring.elapsed_ms == pytest.approx(65)
    assert ring.elapsed_q1_ms == pytest.approx(62.5)
    assert ring.elapsed_q3_ms == pytest.approx(82.5)
    assert ring.run_ms == pytest.approx(120)
    assert ring.after_last_ms == pytest.approx(20)
    assert ring.absorption_ms == pytest.approx(20 - 120 + 100)  # r' - r + omega
    assert ring.limit_ms == pytest.approx(5)
    assert ring.wrong == 7


def test_speedups_compare_elapsed_times_at_the_same_delay(tmp_path):
    rows = rows_of(written(tmp_path, *BALANCED, *LATE, *NATIVE))
    names = [(row.algorithm, row.delay_ms) for row in rows]
    assert names == [("native", 0), ("ring", 0), ("native", 100), ("ring", 100)]
    assert rows[3].speedup_native == pytest.approx(90 / 65)
    assert rows[2].speedup_ring == pytest.approx(65 / 90)
    assert rows[0].speedup_native == rows[1].speedup_native == 1


def test_what_is_not_there_is_not_defined(tmp_path):
    header = HEADER | {"algorithms": ["ring"]}
    row = rows_of(written(tmp_path, *LATE, header=header), delays=[0.1])[0]
    assert row.speedup_native is None
    assert row.limit_ms is None
    assert row.absorption_ms is None  # without balanced iterations
    assert row.speedup_ring == 1


def test_without_a_common_clock_only_elapsed_times_are_defined(tmp_path):
    header = HEADER | {"clock": "per rank: elapsed times only", "algorithms": ["ring"]}
    samples = [
        {"iteration": i, "algorithm": "ring", "elapsed": [0.1, 0.3], "wrong": 0} for i in range(4)
    ]
    file = written(tmp_path, *samples, header=header)
    row = rows_of(file, delays=[0.1], limit=max)[0]
    assert row.elapsed_ms == pytest.approx(200)
    assert {row.run_ms, row.after_last_ms, row.absorption_ms, row.limit_ms} == {None}


def test_an_iteration_that_an_algorithm_missed_does_not_count(tmp_path):
    rows = rows_of(written(tmp_path, *BALANCED, *LATE, *NATIVE[:2]))
    assert [row.iterations for row in rows] == [1, 1, 2, 2]


def test_rows_of_a_file_of_arrivals_have_no_delay(tmp_path):
    job = [Iteration(0.0, [0, 0])] + [Iteration(None, [0, 0.1])] * 3
    samples = read(written(tmp_path, *BALANCED, *LATE, *NATIVE))
    assert [row.delay_ms for row in summarise(samples, job, [None], SETTING)] == [None, None]


def test_the_limit_is_lower_by_the_burst_and_never_below_0():
    network = "alpha=0us,beta=10ns"
    late = [0, 0, 0, 1.0]
    asked = Question(
        collective="allreduce",
        algorithms=[],
        type="float32",
        op="sum",
        delays=[0.0],
        pattern=Pattern("balanced"),
        iterations=1,
        seed=1,
        estimate="perfect",
    )
    assert limit_of(asked, 10**6, core.Network(network))(late) == pytest.approx(0.01)
    assert limit_of(asked, 10**6, core.Network(network))([0] * 4) == pytest.approx(0.015)
    bursts = network + ",burst=400000"  # 4 ms of the link's rate
    assert limit_of(asked, 10**6, core.Network(bursts))(late) == pytest.approx(0.006)
    assert limit_of(asked, 10**5, core.Network(bursts))(late) == 0


def test_a_line_that_is_being_written_is_left_out(tmp_path):
    file = written(tmp_path, *BALANCED, tail='{"iteration":1,"algo')
    assert len(read(file).samples) == 2


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        ("not json", "line 2 of the samples is damaged: 'not json'"),
        ("[1]", "line 2 of the samples is damaged"),
        ('{"iteration":0}', "line 2 of the samples is damaged: no 'arrival'"),
        (json.dumps(sample(0, "ring", [0], [0, 0])), "2 times in seconds"),
        (json.dumps(sample(0, "ring", [0, 0], [0, "x"])), "2 times in seconds"),
        (json.dumps(sample(0, "ring", [0, 0], [0, float("nan")])), "2 times in seconds"),
    ],
)
def test_a_damaged_line_is_an_error_with_its_number(tmp_path, damage, complaint):
    with pytest.raises(SampleError) as error:
        read(written(tmp_path, tail=f"{damage}\n"))
    assert complaint in str(error.value)


@pytest.mark.parametrize("missing", HEADER)
def test_a_header_must_be_complete(tmp_path, missing):
    header = {name: value for name, value in HEADER.items() if name != missing}
    with pytest.raises(SampleError, match=f"no '{missing}'"):
        read(written(tmp_path, header=header))


def test_no_samples_is_an_error(tmp_path):
    with pytest.raises(SampleError, match="cannot read the samples"):
        read(tmp_path / "missing")
    (tmp_path / "empty").write_text("")
    with pytest.raises(SampleError, match="wrote nothing"):
        read(tmp_path / "empty")
