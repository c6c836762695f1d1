"""Where a network comes from: named, from the environment, calibrated, built in."""

import json
from pathlib import Path

import pytest
from bench_helpers import run_verb
from latecomer.core import networks
from latecomer.core.networks import Named, NetworkError

HERE = {"place": "lab 4x100mbit", "ranks": "4", "mpi": "openmpi 4.1.4", "date": "today"}
ASSUMED = Named("alpha=1us", "assumed")
SIMULATED = ["simulate", "--algorithms", "ring", "--bytes", "4KiB", "--arrival", "balanced"]


def calibrated(text="alpha=3us,beta=2ns", **facts):
    networks.save(networks.default_path(), text, {**HERE, **facts})
    return networks.default_path()


def test_what_is_saved_is_loaded(tmp_path):
    path = tmp_path / "new" / "network"
    networks.save(path, "alpha=3us,beta=2ns", HERE)
    saved = networks.load(path)
    assert (saved.text, saved.facts) == ("alpha=3us,beta=2ns", HERE)
    assert saved.source == f"calibrated on lab 4x100mbit, openmpi 4.1.4, today ({path})"
    assert list(path.parent.iterdir()) == [path]


def test_without_anything_the_network_is_built_in():
    assert networks.chosen("") == Named("", "built in")


def test_the_default_file_is_in_the_users_configuration(monkeypatch, tmp_path):
    assert networks.default_path() == tmp_path / "config" / "latecomer" / "network"
    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.setenv("HOME", "/somewhere")
    assert str(networks.default_path()) == "/somewhere/.config/latecomer/network"


def test_without_a_home_nothing_is_calibrated(monkeypatch):
    def home():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.setattr(Path, "home", home)
    assert networks.chosen("") == Named("", "built in")
    assert networks.of_place("lab 4x100mbit", 4, "openmpi", ASSUMED) == ASSUMED
    with pytest.raises(NetworkError, match="set XDG_CONFIG_HOME"):
        networks.default_path()


def test_named_comes_before_the_environment_and_that_before_calibrated(monkeypatch):
    path = calibrated()
    assert networks.chosen("").text == "alpha=3us,beta=2ns"
    assert str(path) in networks.chosen("").source
    monkeypatch.setenv("LATECOMER_NETWORK", "alpha=4us")
    assert networks.chosen("") == Named("alpha=4us", "LATECOMER_NETWORK")
    assert networks.chosen("alpha=5us") == Named("alpha=5us", "as named")
    assert networks.chosen("built-in") == Named("", "built in")
    monkeypatch.setenv("LATECOMER_NETWORK", f"@{path}")
    assert networks.chosen("").text == "alpha=3us,beta=2ns"


def test_plans_use_what_was_calibrated_at_their_place(monkeypatch):
    assert networks.of_place("lab 4x100mbit", 4, "openmpi", ASSUMED) == ASSUMED
    path = calibrated()
    assert networks.of_place("lab 4x100mbit", 4, "openmpi", ASSUMED).text == "alpha=3us,beta=2ns"
    for place in (
        ("lab 8x100mbit", 4, "openmpi"),
        ("lab 4x100mbit", 5, "openmpi"),
        ("lab 4x100mbit", 4, "mpich"),
    ):
        found = networks.of_place(*place, ASSUMED)
        assert found == Named("alpha=1us", f"assumed, since {path} is not of this place")
    monkeypatch.setenv("LATECOMER_NETWORK", "alpha=4us")
    assert networks.of_place("local", 2, "mpich", ASSUMED).text == "alpha=4us"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("# nothing\n", "0 lines with costs"),
        ("alpha=1us\nbeta=1ns\n", "2 lines with costs"),
        ("alpha=fast\n", "not a network's costs.*fast"),
    ],
)
def test_files_that_cannot_be_used_are_errors(tmp_path, content, said):
    path = tmp_path / "network"
    path.write_text(content)
    with pytest.raises(NetworkError, match=said):
        networks.chosen(f"@{path}")


def test_a_file_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(NetworkError, match="No such file.*calibrate"):
        networks.chosen(f"@{tmp_path / 'none'}")


def test_a_file_that_is_no_text_is_an_error(tmp_path):
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(NetworkError, match="no text"):
        networks.load(tmp_path / "binary")


def test_long_files_and_devices_are_refused(tmp_path):
    (tmp_path / "long").write_text("# padding\n" * 7000)
    with pytest.raises(NetworkError, match="more than 65536 bytes"):
        networks.load(tmp_path / "long")
    with pytest.raises(NetworkError, match="a device and no regular file"):
        networks.load(Path("/dev/zero"))


def test_a_network_that_cannot_be_saved_is_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(NetworkError, match="cannot save the network.*--no-save"):
        networks.save(tmp_path / "file" / "network", "alpha=1us", {})


def test_a_bad_environment_is_an_error(monkeypatch):
    monkeypatch.setenv("LATECOMER_NETWORK", "alpha=fast")
    result = run_verb(*SIMULATED)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "LATECOMER_NETWORK" in result.stderr
    assert "fast" in result.stderr


def test_simulate_uses_and_names_what_was_calibrated():
    def after_last(*words):
        result = run_verb(*SIMULATED, *words, "--json")
        found = json.loads(result.stdout)
        return found["rows"][0]["after_last_ms"], found["used"]["costs_from"]

    built_in = after_last()
    path = calibrated("alpha=1ms,beta=1ns")
    slow, source = after_last()
    assert built_in[1] == "built in"
    assert slow > 10 * built_in[0]
    assert source.startswith("calibrated on lab 4x100mbit")
    assert str(path) in source
    assert after_last("--network", "built-in") == built_in
    assert after_last("--network", f"@{path}")[0] == slow


def test_simulate_says_where_its_costs_come_from():
    calibrated()
    assert "(calibrated on lab 4x100mbit" in run_verb(*SIMULATED).stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "alpha 50 µs, beta 8 ns/B, gamma 0.1 ns/B"),
        ("alpha=1ms,beta=0", "alpha 1 ms, beta 0 s/B, gamma 0.1 ns/B"),
        ("eager=4KiB,ports=2", "alpha 50 µs, beta 8 ns/B, gamma 0.1 ns/B, eager 4 KiB, ports 2"),
        ("handshake=200us,jitter=0.1,local_beta=1ns", "alpha 50 µs, beta 8 ns/B, gamma 0.1 ns/B, "
         "handshake 200 µs, local_beta 1 ns/B, jitter 0.1"),
    ],
)  # fmt: skip
def test_costs_for_people_are_those_that_differ(text, said):
    assert networks.brief(text) == said
