"""Arrival patterns: the drawn values, the same ones when drawn again, and files of arrivals."""

import statistics

import pytest
from latecomer.lab.options.arrivals import BALANCED_FIRST, ArrivalError, Pattern, read_delays

DRAWN = ("randlate", "gamma", "gaussian")


def all_values(name: str, delay: float = 0.01) -> list[float]:
    return [late for line in Pattern(name).draw(50, delay, 400, seed=7) for late in line]


def test_onelate_delays_one_rank_only():
    assert Pattern("onelate", 2).draw(4, 0.005, 2, seed=1) == [[0, 0, 0.005, 0]] * 2


def test_balanced_delays_nobody():
    assert Pattern("balanced").draw(3, 0.0, 2, seed=1) == [[0, 0, 0]] * 2


def test_randlate_is_uniform_up_to_the_delay():
    values = all_values("randlate")
    assert min(values) >= 0
    assert max(values) <= 0.01
    assert statistics.fmean(values) == pytest.approx(0.005, rel=0.02)


def test_gamma_has_the_delay_as_mean_and_the_deviation_of_k_2():
    values = all_values("gamma")
    assert min(values) > 0
    assert statistics.fmean(values) == pytest.approx(0.01, rel=0.02)
    assert statistics.stdev(values) == pytest.approx(0.01 / 2**0.5, rel=0.03)


def test_gaussian_is_clipped_at_0():
    values = all_values("gaussian")
    assert min(values) == 0
    assert statistics.median(values) == pytest.approx(0.01, rel=0.02)
    share_clipped = values.count(0) / len(values)
    assert share_clipped == pytest.approx(0.0228, abs=0.005)  # below -2 deviations


@pytest.mark.parametrize("name", DRAWN)
def test_the_same_seed_draws_the_same_and_another_does_not(name):
    pattern = Pattern(name)
    assert pattern.draw(4, 1.0, 3, seed=5) == pattern.draw(4, 1.0, 3, seed=5)
    assert pattern.draw(4, 1.0, 3, seed=5) != pattern.draw(4, 1.0, 3, seed=6)


@pytest.mark.parametrize("name", DRAWN)
def test_a_longer_delay_stretches_the_same_draw(name):
    short, long = (Pattern(name).draw(4, delay, 3, seed=5) for delay in (1.0, 3.0))
    assert [3 * late for late in short[2]] == pytest.approx(long[2])


def test_a_job_starts_with_balanced_iterations():
    job = Pattern("onelate").iterations(3, [0.01, 0.05], count=20, seed=1)
    assert [i.delay for i in job] == [0.0] * BALANCED_FIRST + [0.01] * 20 + [0.05] * 20
    assert job[0].late == [0, 0, 0]


def test_the_balanced_iterations_are_those_of_delay_0():
    job = Pattern("onelate").iterations(3, [0.01, 0.0], count=20, seed=1)
    assert [i.delay for i in job] == [0.0] * 20 + [0.01] * 20


def test_a_file_has_seconds_and_units_and_is_repeated(tmp_path):
    path = tmp_path / "late.csv"
    path.write_text("# three ranks\n0,5ms, 0.25\n\n1e-3,0,20us\n")
    lines = [[0, 0.005, 0.25], [0.001, 0, 2e-5]]
    assert read_delays(path, 3) == [pytest.approx(line) for line in lines]
    job = Pattern(f"file:{path}").iterations(3, [], count=3, seed=1)
    late = [i.late for i in job if i.delay is None]
    assert late == [pytest.approx(line) for line in (*lines, lines[0])]


def test_a_file_may_begin_with_the_mark_of_an_editor(tmp_path):
    path = tmp_path / "late.csv"
    path.write_bytes(b"\xef\xbb\xbf0,5ms\n")
    assert read_delays(path, 2) == [[0, 0.005]]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("0,0,0\n0,x,0\n", "line 2: not a lateness: 'x'"),
        ("0,-1,0\n", "line 1: not a lateness: '-1'"),
        ("0,nan,0\n", "line 1: not a lateness: 'nan'"),
        ("0,inf,0\n", "line 1: not a lateness: 'inf'"),
        ("0,,0\n", "line 1: not a lateness: ''"),
        ("0,5 ms,0\n", "line 1: not a lateness: '5 ms'"),
        ("0,0\n", "line 1: wrong number of values: 2; give one for each of 3 ranks"),
        ("# nothing\n", "no arrivals in the file"),
    ],
)
def test_a_wrong_file_is_an_error_with_line_and_value(tmp_path, text, complaint):
    path = tmp_path / "late.csv"
    path.write_text(text)
    with pytest.raises(ArrivalError) as error:
        read_delays(path, 3)
    assert complaint in str(error.value)


def test_a_missing_or_binary_file_is_an_error(tmp_path):
    with pytest.raises(ArrivalError, match=r"cannot read the arrivals \(No such file.*missing"):
        read_delays(tmp_path / "missing", 3)
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ArrivalError, match=r"cannot read the arrivals"):
        read_delays(tmp_path / "binary", 3)


@pytest.mark.parametrize("name", ["early", "", "file"])
def test_an_unknown_pattern_is_an_error_that_lists_the_known(name):
    with pytest.raises(ArrivalError, match=r"no such arrival pattern.*onelate, randlate"):
        Pattern(name)


@pytest.mark.parametrize("rank", [-1, 4])
def test_a_late_rank_that_does_not_exist_is_an_error(rank):
    with pytest.raises(ArrivalError, match=rf"late: {rank}; use 0 to 3"):
        Pattern("onelate", rank).draw(4, 0.1, 1, seed=1)
