"""LATECOMER_STATS: the report on all communicators when a program ends."""

import json

import pytest
from scenes_helpers import both_families, run_scene

RANKS = 2


def told(name, value, ranks=RANKS):
    env = {} if value is None else {"LATECOMER_STATS": str(value)}
    ended = run_scene(name, ranks, ["stats"], env=env)
    assert ended.code == 0, ended.err
    return ended.err


def check(stats, rank):
    assert (stats["rank"], stats["ranks"]) == (rank, RANKS)
    *freed, halo, world = sorted(stats["communicators"], key=lambda c: len(c["name"]))
    assert halo["name"] == 'halo "\x1b[2J"'
    assert (halo["rank"], halo["ranks"]) == (rank, RANKS)
    assert halo["calls"]["handled"] == 6
    assert sorted(site["calls"]["handled"] for site in halo["sites"]) == [1, 5]
    assert all("mpi_scenes" in site["site"] for site in halo["sites"])
    keys = halo["keys"]
    assert sum(key["times"]["told"] for key in keys) == 6
    assert keys[0]["choices"][0]["algorithm"] == "ring"
    assert keys[0]["bytes"] == 4
    assert world["name"] == "MPI_COMM_WORLD"
    assert world["calls"]["native"] == 1
    assert len(freed) == 64
    assert stats["further_communicators"] == 6
    assert stats["further_calls"]["native"] == 6


@both_families
def test_rank_0_prints_a_table(name):
    said = told(name, 1)
    assert said.count("calls of rank 0 of 2") == 1
    assert "calls of rank 1" not in said
    assert "rank 0 of 'halo \"\\x1b[2J\"' (2 ranks): 6 handled" in said
    assert "6 ring" in said
    assert "6 further communicators: 6 native" in said
    assert "\x1b" not in said


@both_families
@pytest.mark.parametrize("value", [None, 0])
def test_nothing_is_said_unless_asked_for(name, value):
    assert "calls of rank" not in told(name, value)


@both_families
def test_every_rank_writes_its_json(name, tmp_path):
    assert "calls of rank" not in told(name, tmp_path / "stats-%r.json")
    for rank in range(RANKS):
        check(json.loads((tmp_path / f"stats-{rank}.json").read_text()), rank)


@both_families
def test_rank_0_writes_one_file(name, tmp_path):
    told(name, tmp_path / "stats")
    assert [path.name for path in tmp_path.iterdir()] == ["stats"]
    assert "calls of rank 0 of 2" in (tmp_path / "stats").read_text()


@both_families
def test_a_file_that_cannot_be_written_is_named(name, tmp_path):
    missing = tmp_path / "missing" / "stats"
    said = told(name, missing)
    assert f"LATECOMER_STATS: cannot write the file '{missing}' (No such file or directory)" in said


@both_families
def test_a_link_is_not_followed(name, tmp_path):
    precious, link = tmp_path / "precious", tmp_path / "stats"
    precious.write_text("precious")
    link.symlink_to(precious)
    assert f"cannot write the file '{link}' (no regular file)" in told(name, link)
    assert precious.read_text() == "precious"


@both_families
def test_processes_and_jobs_have_files_of_their_own(name, tmp_path):
    for _ in range(2):
        told(name, tmp_path / "%j-%r-%p.json")
    assert len(list(tmp_path.iterdir())) == 2 * RANKS
    told(name, tmp_path / "one-%j")
    assert len(list(tmp_path.glob("one-*"))) == 1
