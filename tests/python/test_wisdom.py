"""LATECOMER_WISDOM: what a job has learnt of the network is what the next one begins with."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from dropin_helpers import cases_of, launcher_of, run_cases, run_command
from latecomer import JobCosts, Wisdom, cli, rehearse_job
from latecomer.launch import preload
from scenes_helpers import both_families
from test_dropin_begin import local

HEAD = "latecomer wisdom 1\n"
VALUES = "start-ups=0.9/0.1 bytes=1.2/0.05 combining=1/0.5 exchanges=1.3/0.2"
BEGINS = "begins with what earlier jobs have learnt of the network: start-ups="
NOT_USED = "LATECOMER_WISDOM is not used: "


# As if each rank had a node: there programs compete that are told apart by their calls.
SETTINGS = {"LATECOMER_LOG": "info", "LATECOMER_NODES": "off"}


def job(name, file, ranks=3, cases=("long_sums",), **more):
    variables = {"LATECOMER_WISDOM": str(file), **SETTINGS, **more}
    return run_cases(name, ranks, cases, variables).check().err


def entries(file):
    """Those of the file, by key."""
    lines = file.read_text().splitlines()
    assert lines[0] == HEAD.strip()
    return dict(line.split(": ") for line in lines[1:] if not line.startswith("#"))


@both_families
def test_the_second_job_begins_with_what_the_first_one_learnt(name, tmp_path):
    file = tmp_path / "wisdom"
    assert BEGINS not in job(name, file)
    (first,) = entries(file).items()
    assert re.fullmatch(r"latecomer=\S+ mpi=\S+ nodes=3 ranks=3 network=alpha=\S+", first[0])
    told = job(name, file)
    assert told.count(BEGINS) == 1
    assert first[1] in told
    assert set(entries(file)) == {first[0]}  # the same key
    assert NOT_USED not in told
    # Another number of ranks, nodes or costs is another key.
    for ranks, more in (
        (4, {}),
        (3, {"LATECOMER_NODES": "2"}),
        (3, {"LATECOMER_NETWORK": "alpha=9us"}),
    ):
        assert BEGINS not in job(name, file, ranks, **more)
    assert len(entries(file)) > 1
    assert first[0] in entries(file)
    assert [each.name for each in tmp_path.iterdir()] == ["wisdom"]


def test_entries_of_others_stay_up_to_a_bound(tmp_path):
    file = tmp_path / "wisdom"
    file.write_text(HEAD + "".join(f"other {number}: {VALUES}\n" for number in range(64)))
    job("openmpi", file)
    found = list(entries(file))
    assert len(found) == 64
    assert "ranks=3" in found[0]
    assert found[1:] == [f"other {number}" for number in range(63)]


@pytest.mark.parametrize(
    "variables",
    [{"LATECOMER_REPRODUCIBLE": "1"}, {"LATECOMER_ALGORITHM": "native"},
     {"LATECOMER": "observe"}, {"LATECOMER_ALGORITHM": "allreduce:ring"}],
)  # fmt: skip
def test_jobs_that_do_not_choose_leave_the_file_alone(tmp_path, variables):
    file = tmp_path / "wisdom"
    job("openmpi", file, **variables)
    assert not file.exists()
    file.write_text("no wisdom\n")
    told = job("openmpi", file, **variables)
    if variables.get("LATECOMER_ALGORITHM") != "allreduce:ring":  # linked, so it reads
        assert "wisdom file" not in told
    assert file.read_text() == "no wisdom\n"


def test_a_job_that_learns_nothing_writes_nothing(tmp_path):
    file = tmp_path / "wisdom"
    job("openmpi", file, cases=["reductions"])
    assert not file.exists()


def made(kind, file):
    """A file that cannot be used; the text that has to stay in it."""
    texts = {
        "other": "a,b\n1,2\n",
        "version": "latecomer wisdom 2\n",
        "cut off": HEAD + "key: start-ups=0.9",
        "nan": f"{HEAD}key: {VALUES.replace('0.9', 'nan')}\n",
        "many": HEAD + "".join(f"key {number}: {VALUES}\n" for number in range(1000)),
        "large": HEAD + "#" * (1 << 20) + "\n",
        "binary": "\x00\x01\x02",
    }
    if kind in texts:
        file.write_text(texts[kind])
    elif kind == "pipe":
        os.mkfifo(file)
    elif kind == "folder":
        file.mkdir()
    elif kind == "link":
        (file.parent / "target").write_text(HEAD)
        file.symlink_to(file.parent / "target")
    elif kind == "endless":
        file.symlink_to("/dev/zero")
    else:
        return Path("/dev/zero"), None
    return file, texts.get(kind)


@pytest.mark.parametrize(
    "kind", ["other", "version", "cut off", "nan", "many", "large", "binary", "pipe", "folder",
             "link", "endless", "device"],
)  # fmt: skip
def test_a_file_that_is_wrong_is_named_once_and_stays(tmp_path, kind):
    file, text = made(kind, tmp_path / "wisdom")
    before = sorted(tmp_path.iterdir())
    told = job("openmpi", file)
    assert told.count("wisdom file") == 1, told
    assert told.count("LATECOMER_WISDOM") == 2  # with the line of settings
    assert NOT_USED in told
    assert BEGINS not in told
    assert sorted(tmp_path.iterdir()) == before
    assert text is None or file.read_text() == text


def test_a_wrong_file_is_named_once_with_mpich_too(tmp_path):
    file, _ = made("nan", tmp_path / "wisdom")
    assert job("mpich", file).count("wisdom file") == 1


@both_families
def test_a_rank_that_reads_something_else_leaves_all_without(name, tmp_path):
    file = tmp_path / "wisdom"
    # Three ranks, on fewer cores: there the MPI library's sums are slow enough to be taken over.
    job(name, file)
    assert len(entries(file)) == 1
    launch = launcher_of(name, 1, [cases_of(name), "long_sums"])
    others = launcher_of(name, 2, [cases_of(name), "long_sums"])

    def words(path, launch=launch):
        variables = {"LATECOMER_WISDOM": str(path), **SETTINGS}
        return local(preload.preloading(launch.command, preload.library(), variables))

    (tmp_path / "other").write_text(HEAD)
    for second in (tmp_path, tmp_path / "none", tmp_path / "other", ""):
        for pair in ((file, second), (second, file)):
            one, two = words(pair[0]), words(pair[1], others)
            told = run_command([*one, ":", *two[1:]], launch.env).check().err
            assert told.count(NOT_USED) == 1, told
            assert BEGINS not in told
            assert "settings differ" not in told
    one, two = words(file), words(file, others)
    assert BEGINS in run_command([*one, ":", *two[1:]], launch.env).check().err


@both_families
def test_two_jobs_that_end_at_once_leave_a_valid_file(name, tmp_path):
    file = tmp_path / "wisdom"
    launch = launcher_of(name, 2, [cases_of(name), "long_sums"])
    jobs = []
    for number in range(2):
        variables = {
            "LATECOMER_WISDOM": str(file),
            "LATECOMER_NODES": "off",
            "LATECOMER_NETWORK": f"alpha={number + 1}us",
            "LD_PRELOAD": str(preload.library()),
        }
        command = preload.with_variables(launch.command, variables)
        jobs.append(subprocess.Popen(command, env=launch.env, stderr=subprocess.PIPE))
    for each in jobs:
        _, err = each.communicate(timeout=600)
        assert each.returncode == 0, err
        assert b"wisdom" not in err.lower()
    assert 1 <= len(entries(file)) <= 2  # one may have read before the other wrote
    assert [each.name for each in tmp_path.iterdir()] == ["wisdom"]


def test_a_file_that_cannot_be_written_is_named_once(tmp_path):
    missing = tmp_path / "missing" / "wisdom"
    told = job("openmpi", missing)
    assert (
        f"LATECOMER_WISDOM: cannot write the file '{missing}' (No such file or directory)" in told
    )
    assert told.count("cannot write") == 1


def test_freed_communicators_count_too(tmp_path):
    file = tmp_path / "wisdom"
    job("openmpi", file, cases=["long_sums_freed"])
    assert len(entries(file)) == 1


def test_run_takes_wisdom_and_refuses_other_files(capsys, tmp_path):
    bad = tmp_path / "bad"
    bad.write_text(HEAD + "key: secret\n")
    for path, message in (
        (bad, f"wisdom file {bad}, line 2: 'text' is not usable"),
        (tmp_path, "--wisdom"),
        (tmp_path / "missing" / "wisdom", "no such folder for --wisdom"),
    ):
        words = ["run", "--wisdom", str(path), "--", "mpirun", "-n", "2", "true"]
        assert cli.run(words) == 2
        assert message in capsys.readouterr().err
    assert cli.run(["run", "--preload-only", "--wisdom", str(tmp_path / "new")]) == 0
    assert f"LATECOMER_WISDOM={tmp_path / 'new'}\n" in capsys.readouterr().out


# ---- rehearsals: calls of 1 ms, on a network that is ten times faster than assumed

FAST = "alpha=5us,beta=0.8ns,gamma=0.01ns"


def rehearsed(wisdom, calls=12, native="reduce_bcast"):
    return rehearse_job(
        "auto",
        [[0.001] * 8] * calls,
        count=1 << 18,
        network=FAST,
        assumed="",
        native=native,
        finding_out=JobCosts(),
        wisdom=wisdom,
    )


def numbers(text):
    return [float(each) for each in re.findall(r"[=/]([^ /]+)", text)]


def test_a_rehearsed_job_learns_and_the_next_one_begins_with_it():
    wisdom = Wisdom()
    first = rehearsed(wisdom, 60)
    learnt = numbers(wisdom.network)
    assert 0.05 < learnt[2] < 0.2  # bytes: a tenth
    assert learnt[3] < 0.5
    again = rehearsed(Wisdom(wisdom.network))
    assert again[-1].exits.max() <= first[11].exits.max()


def test_what_was_not_learnt_changes_nothing():
    wisdom = Wisdom(VALUES)
    rehearsed(wisdom, 1)
    assert wisdom.network == VALUES
    with pytest.raises(ValueError, match="wisdom: 'text' is not usable"):
        rehearsed(Wisdom("bytes=1"))


@pytest.mark.parametrize("factors", [
    (1, 1, 1, 1e6), (1e6, 1, 1, 1), (1e-6, 1e6, 1, 1), (1e6, 1e-6, 1, 1), (1, 1e-6, 1e6, 1),
    (1e6, 1e6, 1e6, 1), (1e-6, 1e-6, 1e-6, 1e-6),
])  # fmt: skip
def test_factors_beyond_all_networks_are_unlearnt(factors):
    """Whatever a file claims for sure, the calls that follow lead back."""
    names = ("start-ups", "bytes", "combining", "exchanges")
    text = " ".join(f"{name}={each:g}/0" for name, each in zip(names, factors, strict=True))

    def last(wisdom):
        calls = rehearse_job("auto", [[0.001] * 8] * 80, count=1 << 18, network="", assumed="",
                             native="reduce_bcast", finding_out=JobCosts(),
                             wisdom=wisdom)  # fmt: skip
        return calls[-1].exits.max() - calls[-2].exits.max()

    assert last(Wisdom(text)) < 1.5 * last(Wisdom())
