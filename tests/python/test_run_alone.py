"""`latecomer run` where no rank comes to MPI, and words that do not fit."""

import json
from pathlib import Path

import pytest
from latecomer import cli
from latecomer.launch import preload, program


@pytest.fixture
def launcher(tmp_path):
    """An mpirun that starts no rank and ends with a code."""

    def made(code):
        path = tmp_path / "mpirun"
        path.write_text("#!/bin/sh\n[ \"$1\" = --version ] && echo 'mpirun (Open MPI) 4.1.4' && exit\n"
                        f"echo 'mpirun: not enough slots' >&2\nexit {code}\n")  # fmt: skip
        path.chmod(0o755)
        return str(path)

    if program.find_built(preload.LIBRARY) is None:
        pytest.skip("the drop-in library is not built")
    return made


def test_a_launcher_that_fails_is_the_reason(launcher, capfd):
    assert cli.run(["run", "--", launcher(3), "-n", "2", "./app"]) == 3
    assert "mpirun ended with 3 before any rank began MPI; see above" in capfd.readouterr().err


def test_of_a_job_that_is_ended_the_calls_before_can_be_kept(launcher, tmp_path, capfd):
    path = Path(launcher(0))
    path.write_text(path.read_text().replace("exit 0", "exec sleep 100"))
    kept = "with --trace FOLDER the calls before that are kept"
    words = ["run", "--deadline", "0.5s", "--", str(path), "-n", "2", "./app"]
    assert cli.run(words) == 1
    assert kept in capfd.readouterr().err
    words[1:1] = ["--trace", str(tmp_path / "trace")]
    assert cli.run(words) == 1
    assert "no call was traced before that" in capfd.readouterr().err


def test_there_is_no_gain_where_the_library_was_not_active(launcher, capfd):
    command = [launcher(0), "-n", "2", "./app"]
    reason = "no rank had the library: the program is no MPI program or has MPI linked in static"
    assert cli.run(["run", "--compare", "--turns", "1", "--", *command]) == 1
    out, err = capfd.readouterr()
    assert "there is no comparison, since the library was not active" in err
    assert reason in err
    assert "saved" not in out + err
    assert cli.run(["run", "--", *command]) == 0
    assert reason in capfd.readouterr().err


def test_that_it_was_switched_off_is_the_reason(launcher, capfd, monkeypatch):
    monkeypatch.setenv("LATECOMER", "off")
    assert cli.run(["run", "--", launcher(0), "-n", "2", "./app"]) == 0
    assert "LATECOMER=off is set" in capfd.readouterr().err


def test_variables_for_other_launchers(launcher, capsys, monkeypatch):
    monkeypatch.setenv("LD_PRELOAD", "")
    assert cli.run(["run", "--observe", "--preload-only"]) == 0
    library = str(preload.library(messages=True))
    told = dict(line.split("=", 1) for line in capsys.readouterr().out.splitlines())
    assert told == {"LD_PRELOAD": library, "LATECOMER": "observe"}
    assert cli.run(["run", "--observe", "--no-messages", "--preload-only", "--json"]) == 0
    library = str(preload.library())
    assert json.loads(capsys.readouterr().out)["LD_PRELOAD"] == library
    assert cli.run(["run", "--preload-only", "--algorithm", "ring", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "LD_PRELOAD": library, "LATECOMER_ALGORITHM": "ring", "LATECOMER_STATS": "1",
    }  # fmt: skip


@pytest.mark.parametrize(("words", "said"), [
    (["--observe", "--off", "--", "mpirun", "x"], "--observe needs one run"),
    (["--observe", "--compare", "--", "mpirun", "x"], "--observe needs one run"),
    (["--observe", "--algorithm", "ring", "--", "mpirun", "x"], "leave out --algorithm"),
    (["--", "./late", "a b"], "as in 'latecomer run -- mpirun -n 4 ./late 'a b''; for launchers"),
    (["--", "python3", "x.py"], "the program python3; right would be a launcher before it"),
    (["--", ""], "COMMAND is empty; right would be mpirun, mpiexec or srun, as in"),
    (["--", "flux", "run", "x"], "flux ... env $(latecomer run --preload-only) ./app"),
    ([], "Missing argument 'COMMAND...'"),
])  # fmt: skip
def test_words_that_do_not_fit(words, said, capsys):
    assert cli.run(["run", *words]) == 2
    assert said in capsys.readouterr().err
