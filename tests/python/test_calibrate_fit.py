"""The fit: a known network's times give that network back, within the intervals."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from latecomer.core.compiled import core
from latecomer.lab.calibrate import costs
from latecomer.lab.calibrate.fit import findings, fit
from latecomer.lab.calibrate.measured import Measured, read
from latecomer.lab.results.samples import SampleError

EAGER = 65_500
SIZES = sorted({8, 64, 512, *(1 << k for k in range(12, 23)), EAGER, EAGER + 1})
COMBINED = [1 << k for k in range(12, 23, 2)]
PATTERNS = {
    **dict.fromkeys(("pair", "rested", "ring", "exchange"), SIZES),
    "exchange, received first": [size for size in SIZES if EAGER < size <= 1 << 20],
    **dict.fromkeys(("combine", "combine alone"), COMBINED),
}
TRUE = {"alpha": 120e-6, "beta": 40e-9, "gamma": 0.2e-9, "handshake": 180e-6, "exchange": 1.5}
SENT_FIRST = 1.25  # the exchange penalty in one of two orders
SCALE = {"alpha": 1e6, "beta": 1e9, "gamma": 1e9, "handshake": 1e6, "exchange": 1}
HOSTS = [f"node{k}" for k in range(8)]


def header(**more) -> dict:
    usual = {"version": "0.1.0", "mpi": "Open MPI v9.8.7, package", "ranks": 8, "members": 8}
    return {
        **usual,
        "cores": 2,
        "eager": EAGER,
        "buffer": 1 << 20,
        "largest": 1 << 22,
        "hosts": HOSTS,
        **more,
    }


def clean(pattern: str, size: int, true=TRUE, burst: int = 0) -> float:
    """Seconds on an undisturbed network."""
    waits = true["handshake"] * (size > EAGER)
    occupied = true["alpha"] + true["beta"] * size
    if pattern.startswith("combine"):
        return true["gamma"] * size * (1 if pattern == "combine" else 0.5)
    if pattern == "rested":
        return true["alpha"] / 2 + waits + true["beta"] * max(0, size - burst)
    if pattern == "exchange, received first":
        return waits + occupied * true["exchange"] ** 2 / SENT_FIRST
    if pattern == "exchange":
        return waits + occupied * (SENT_FIRST if size > EAGER else 1)
    return waits + occupied - (true["alpha"] / 2 if pattern == "pair" else 0)


def drawn(seed: int, rounds: int = 15, noise: float = 0.03, burst: int = 0, **more) -> list[dict]:
    """Lines of the calibration program: noise, and in one round of ten a great disturbance."""
    source = np.random.default_rng(seed)
    made = [header(**more)]
    for number in range(rounds):
        rough = 3.0 if source.random() < 0.1 else 1.0
        for pattern, sizes in PATTERNS.items():
            for size in sizes:
                seconds = clean(pattern, size, burst=burst)
                seconds *= rough * (1 + noise * abs(source.standard_normal()))
                made.append(
                    {"round": number, "pattern": pattern, "bytes": size, "seconds": seconds}
                )
    return made


def written(folder, lines) -> Measured:
    path = folder / "samples"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return read(path)


def test_a_known_network_is_found_again(tmp_path):
    inside = dict.fromkeys(TRUE, 0)
    seeds = range(1, 9)
    for seed in seeds:
        found = fit(written(tmp_path, drawn(seed, noise=0.0)))
        assert found.costs == pytest.approx(TRUE, rel=1e-3), f"seed {seed}"
        found = fit(written(tmp_path, drawn(seed)))
        typical = 1 + 0.03 * 0.6745  # noise only adds: the median of its size is in all times
        for each in found.parameters:
            if each.name in TRUE:
                true = TRUE[each.name] * SCALE[each.name]
                true *= 1 if each.name == "exchange" else typical
                inside[each.name] += each.low <= true <= each.high
                slack = 0.5 if each.name == "handshake" else 0.04  # a difference of larger times
                assert each.value == pytest.approx(true, rel=slack), f"{each.name}, seed {seed}"
    assert min(inside.values()) >= 0.75 * len(seeds), inside


def test_the_network_is_a_text_that_the_core_reads(tmp_path):
    found = fit(written(tmp_path, drawn(1, noise=0.0)))
    assert found.text == (
        "alpha=120us,beta=40ns,gamma=0.2ns,eager=65500,buffer=1048576,handshake=180us,exchange=1.5"
    )
    assert core.Network(found.text).eager_limit == 65500
    assert core.Network(found.text).buffer == 1 << 20


def test_intervals_widen_with_the_noise(tmp_path):
    def width(noise):
        alpha = fit(written(tmp_path, drawn(5, noise=noise))).aside("alpha")
        return alpha.high - alpha.low

    assert width(0.01) < width(0.1) < width(0.5)


def test_the_model_that_fits_is_said_to_fit(tmp_path):
    said = findings(fit(written(tmp_path, drawn(1))))
    assert said[0].startswith("the model fits")
    assert not [text for text in said if "token bucket" in text]


def test_without_long_messages_or_a_rate_there_is_no_burst():
    sizes = np.array([1, 4 * costs.LONG])
    for until, beta in ((1, 1e-9), (2, 0.0)):
        rested = SimpleNamespace(sizes=sizes[:until])
        assert costs.burst(SimpleNamespace(curves={"rested": rested}), {"beta": beta}) == 0.0


def test_a_burst_is_found_and_told(tmp_path):
    found = fit(written(tmp_path, drawn(1, noise=0.001, burst=131072)))
    assert found.aside("burst").value == pytest.approx(128, rel=0.1)
    assert [text for text in findings(found) if "token bucket" in text and "5." in text]


def test_crowding_and_exchanges_are_told(tmp_path):
    said = " ".join(findings(fit(written(tmp_path, drawn(1, noise=0.001)))))
    assert "8 ranks share 2 cores" in said
    assert "1.25 times as long as ranks in a ring" in said
    assert "1.8 times as long as ranks in a ring if both post the receive first" in said


def test_where_the_line_misses_is_told(tmp_path):
    lines = drawn(1, noise=0.001)
    for line in lines[1:]:
        if (line["pattern"], line["bytes"]) == ("ring", 16384):
            line["seconds"] *= 2
    said = findings(fit(written(tmp_path, lines)))
    assert said[0].startswith("the model misses: its line is 50% below")
    assert "16 KiB" in said[0]


def test_few_rounds_are_told(tmp_path):
    assert "only 3 rounds" in findings(fit(written(tmp_path, drawn(1, rounds=3))))[-1]


def test_two_ranks_say_nothing_of_exchanges(tmp_path):
    found = fit(written(tmp_path, drawn(1, members=2, ranks=2, hosts=HOSTS[:2])))
    assert found.aside("exchange").value == 1
    assert "two ranks" in found.aside("exchange").how


@pytest.mark.parametrize("eager", [0, 1 << 22])
def test_messages_of_one_kind_need_no_handshake(tmp_path, eager):
    lines = [line for line in drawn(1) if line.get("bytes") not in (EAGER, EAGER + 1)]
    lines[0]["eager"] = eager
    found = fit(written(tmp_path, lines))
    assert found.aside("handshake").value == 0
    assert ("longer ones were not tried" in found.aside("eager").how) == (eager > 0)


def with_hosts(folder, hosts: list[str]):
    lines = drawn(1, hosts=hosts, ranks=len(hosts), members=len(set(hosts)))
    lines += [{**line, "pattern": "local"} for line in lines if line.get("pattern") == "ring"]
    return fit(written(folder, lines))


def test_ranks_that_share_hosts_have_costs_of_their_own(tmp_path):
    found = with_hosts(tmp_path, ["a", "a", "b", "b", "c", "c"])
    assert "per_node=2" in found.text
    assert found.aside("local_alpha").value == pytest.approx(found.aside("alpha").value, rel=0.1)
    assert "local_beta=" in core.Network(found.text).text


@pytest.mark.parametrize("hosts", [["a", "b", "a", "b"], ["a", "a", "b"]])
def test_hosts_that_the_model_cannot_hold_are_told(tmp_path, hosts):
    found = with_hosts(tmp_path, hosts)
    assert "per_node" not in found.text
    assert "not consecutive or not equally many" in findings(found)[-1]


def test_an_incomplete_round_does_not_count(tmp_path):
    lines = drawn(1, rounds=6)
    assert written(tmp_path, lines[:-4]).rounds == 5


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([], "the calibration program wrote nothing"),
        ([{"version": "0.1.0"}], "no 'mpi'"),
        ([header()], "no round was completed: 0 samples"),
        ([header(), {"round": 0}], "line 2 of the samples is damaged"),
        (
            [header(), {"round": 0, "pattern": "ring", "bytes": 8, "seconds": float("nan")}],
            "a time in seconds",
        ),
    ],
)
def test_damaged_samples_are_errors(tmp_path, lines, said):
    with pytest.raises(SampleError, match=said):
        written(tmp_path, lines)
