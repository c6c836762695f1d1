"""The command: its verbs, its errors and exit codes, and the registry."""

import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import latecomer
import pytest
from latecomer import cli
from latecomer.base import output
from latecomer.command.declare import parameters
from latecomer.lab.cluster import LabError
from latecomer.verbs.commands import COMMANDS

ROOT = Path(__file__).parents[2]
VERBS = ("bench", "simulate", "algorithms", "verify", "show", "doctor", "run")


def run(capsys, *words):
    code = cli.run(words)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


# ---- the command as a whole


@pytest.mark.parametrize("word", ["--version", "-V", "version"])
def test_the_version(capsys, word):
    assert run(capsys, word) == (0, f"latecomer {latecomer.__version__}\n", "")


@pytest.mark.parametrize("words", [[], ["--help"], ["-h"], ["help"]])
def test_help_lists_all_verbs(capsys, words):
    code, out, _ = run(capsys, *words)
    assert code == 0
    assert all(f"\n  {verb} " in out for verb in (*VERBS, "lab"))


def test_help_begins_with_who_is_late(capsys):
    lines = run(capsys, "help")[1].splitlines()
    titles = [line for line in lines if line and line == line.lstrip() and line.endswith(":")]
    assert titles[:3] == ["See who is late:", "Measure:", "Research:"]
    first = lines[lines.index(titles[0]) + 1 :]
    assert [line.split()[0] for line in first if line[2:3].isalpha()][:3] == [
        "run",
        "watch",
        "report",
    ]


@pytest.mark.parametrize("words", [["help", "lab", "run"], ["lab", "run", "-h"]])
def test_help_of_a_verb(capsys, words):
    assert run(capsys, *words) == run(capsys, "lab", "run", "--help")


@pytest.mark.parametrize("verb", VERBS)
def test_help_has_an_example(capsys, verb):
    code, out, _ = run(capsys, verb, "--help")
    assert code == 0
    assert f"Example: latecomer {verb}" in out
    assert "--json" in out


def test_an_argument_that_may_be_left_out_is_in_brackets(capsys):
    for path, verb in COMMANDS.verbs():
        _, out, _ = run(capsys, *path.split(), "--help")
        words = out.splitlines()[0].partition("[OPTIONS]")[2].split()
        needed = [each.required for each in parameters(verb) if not each.option.names]
        if path != "run":  # it needs its command, but for --preload-only
            assert [not word.startswith("[") for word in words] == needed, path


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["frobnicate"], "No such command 'frobnicate'. See 'latecomer --help'."),
        (["--frobnicate"], "No such option"),
        (["lab"], "Missing command. See 'latecomer lab --help'."),
        (["show"], "Missing argument 'ALGORITHM'. See 'latecomer show --help'."),
        (["doctor", "x"], "unexpected extra argument"),
    ],
)
def test_usage_errors(capsys, words, message):
    code, out, err = run(capsys, *words)
    assert (code, out) == (2, "")
    assert err.startswith("latecomer: error: ")
    assert message in err


@pytest.mark.parametrize(
    ("error", "code"),
    [(LabError("what", "value", "remedy"), 1), (RuntimeError("stuck"), 1), (ValueError("no"), 2)],
)
def test_errors_of_verbs_have_their_exit_codes(capsys, monkeypatch, error, code):
    def fail(name):
        raise error

    monkeypatch.setattr(latecomer, "algorithms", fail, raising=False)
    assert run(capsys, "algorithms") == (code, "", f"latecomer: error: {error}\n")


def test_an_error_of_the_system_names_the_file_and_why(capsys, monkeypatch):
    def fail(name):
        raise PermissionError(13, "Permission denied", "/some/file")

    monkeypatch.setattr(latecomer, "algorithms", fail, raising=False)
    said = "latecomer: error: cannot read or write /some/file: Permission denied\n"
    assert run(capsys, "algorithms") == (1, "", said)


def test_an_interruption_anywhere_is_told(capsys, monkeypatch):
    def interrupted(name):
        raise KeyboardInterrupt

    monkeypatch.setattr(latecomer, "algorithms", interrupted, raising=False)
    code, out, err = run(capsys, "algorithms")
    assert (code, out, err.strip()) == (130, "", "latecomer: interrupted")


def test_a_missing_core_is_an_error_and_no_traceback():
    script = (
        "import sys; sys.modules['latecomer._core'] = None; from latecomer.cli import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, "algorithms"],
        env=os.environ | {"PYTHONPATH": str(ROOT / "python")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("latecomer: error: the compiled core of latecomer cannot be")
    assert "./demo or ./test" in done.stderr


# ---- the script at the root of the clone


def test_the_script_runs_from_any_folder(tmp_path):
    if not (ROOT / ".venv").exists():
        pytest.skip("no .venv in this clone")
    link = tmp_path / "latecomer"
    link.symlink_to(ROOT / "latecomer")
    for command in (ROOT / "latecomer", link):
        done = subprocess.run(
            [command, "--version"], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        assert done.stdout == f"latecomer {latecomer.__version__}\n"


def test_the_script_runs_no_module_of_the_folder_it_is_called_in(tmp_path):
    if not (ROOT / ".venv").exists():
        pytest.skip("no .venv in this clone")
    for name in ("random", "queue", "copy", "json", "latecomer"):
        (tmp_path / f"{name}.py").write_text('raise SystemExit("not mine")\n')
    done = subprocess.run(
        [ROOT / "latecomer", "simulate", "--nodes", "4", "--bytes", "8KiB"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_what_is_to_be_copied_is_called_as_this_command(tmp_path):
    def said(word):
        env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
        return subprocess.run([word, "x"], env=env, cwd=ROOT, capture_output=True, text=True,
                              check=False).stderr  # fmt: skip

    assert "See './latecomer --help'." in said("./latecomer")
    (tmp_path / "latecomer").symlink_to(ROOT / "latecomer")
    assert "See 'latecomer --help'." in said("latecomer")


def test_a_closed_pipe_is_no_error(tmp_path):
    if not (ROOT / ".venv").exists():
        pytest.skip("no .venv in this clone")
    line = f"'{ROOT}/latecomer' show ring --ranks 32 | head -1"
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("# latecomer ")
    assert done.stderr == ""


@pytest.mark.parametrize("words", [
    "algorithms", "algorithms ring", "show ring -n 4", "simulate --nodes 4 --bytes 8KiB", "--help",
    "verify --algorithms ring --ranks 2-3 --patterns 1", "report --help",
])  # fmt: skip
def test_a_reader_that_has_seen_enough_is_no_failure(words):
    """A table, a text or a line is printed when nobody reads any more."""
    ends, write = os.pipe()
    os.close(ends)
    done = subprocess.run(
        [sys.executable, "-m", "latecomer", *words.split()], check=False, stdout=write,
        stderr=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": str(ROOT / "python")},
    )  # fmt: skip
    os.close(write)
    assert done.returncode == 0
    assert "error" not in done.stderr


@pytest.mark.parametrize(("python", "message"), [(False, ".venv"), (True, "compiled core")])
def test_the_script_says_what_to_build(tmp_path, python, message):
    script = shutil.copy(ROOT / "latecomer", tmp_path)
    if python:
        (tmp_path / ".venv/bin").mkdir(parents=True)
        (tmp_path / ".venv/bin/python").symlink_to(sys.executable)
    done = subprocess.run([script, "doctor"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("latecomer: error: the ")
    assert message in done.stderr
    assert "run ./demo or ./test there" in done.stderr


# ---- algorithms


@pytest.mark.parametrize("width", [80, 200])
def test_the_registry_has_a_line_for_each_algorithm(capsys, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    code, out, _ = run(capsys, "algorithms")
    assert code == 0
    rows = latecomer.algorithms()
    lines = [line for line in out.splitlines() if line.startswith("  ")]
    assert [line.split()[0] for line in lines] == [row.name for row in rows]
    assert max(map(len, out.splitlines())) <= width
    kinds = {line.split()[0]: line.split()[1] for line in lines}
    assert kinds["online_owners"] == "deciding"
    assert kinds["prereduced_ring"] == "aware"
    assert (kinds["ring"], kinds["native"]) == ("together", "library")


def test_all_about_an_algorithm(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = run(capsys, "algorithms", "sorted_linear_tree", "--collective", "allreduce")
    assert code == 0
    assert out.startswith("allreduce sorted_linear_tree\n  kind: aware\n")
    assert "  override=ring|back: which way the result goes" in out
    assert "  source: Proficz 2018" in out
    assert "..." not in out
    both = run(capsys, "algorithms", "ring,nodes", "--json")[1]
    assert {row["name"] for row in json.loads(both)["algorithms"]} == {"ring", "nodes"}
    code, out, err = run(capsys, "algorithms", "rign")
    assert (code, out) == (2, "")
    assert "NAME: 'rign'; give some of arrival_b, " in err


def test_the_registry_in_json(capsys):
    code, out, _ = run(capsys, "algorithms", "--collective", "allreduce", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["version"] == latecomer.__version__
    names = [row["name"] for row in found["algorithms"]]
    assert names == [row.name for row in latecomer.algorithms("allreduce")]


def test_an_unknown_collective(capsys):
    code, out, err = run(capsys, "algorithms", "--collective", "allsum")
    assert (code, out) == (2, "")
    assert (
        "error: collective: 'allsum' is not usable; right would be one of allgather, allreduce"
        in err
    )


@pytest.mark.parametrize("no_color", [False, True])
def test_no_color_is_respected(monkeypatch, no_color):
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    if no_color:
        monkeypatch.setenv("NO_COLOR", "1")
    screen = io.StringIO()
    screen.isatty = lambda: True
    monkeypatch.setattr(sys, "stdout", screen)
    output.console().print("[red]no[/]")
    assert ("\x1b[31m" in screen.getvalue()) is not no_color


def test_the_terminal_that_a_launcher_gives_a_rank_is_none():
    """It has no columns. A file's table has all columns, and no colours."""
    own, given = os.openpty()
    code = (
        "from latecomer.base.output import console; print(console().is_terminal, console().width)"
    )
    env = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    subprocess.run([sys.executable, "-c", code], stdout=given, check=True, env=env)
    assert os.read(own, 99).split() == [b"False", b"200"]
    os.close(own)
    os.close(given)


# ---- progress


def test_where_no_terminal_is_a_line_a_minute_says_how_far_it_is(capsys):
    now = [0.0]
    with output.Lines(clock=lambda: now[0]) as bar:
        task = bar.add_task("measuring", total=200)
        for step in range(180):  # a step a second
            now[0] = float(step)
            bar.update(task, completed=step)
    assert capsys.readouterr().err == "latecomer: measuring: 30 %\nlatecomer: measuring: 60 %\n"


def test_items_and_names_of_what_is_done_now_are_told_too(capsys):
    now = [0.0]
    bar = output.Lines(clock=lambda: now[0])
    for item in bar.track(range(1, 5), description="checking"):
        now[0] = 61.0 * item
    task = bar.add_task("fitting", total=None)
    now[0] += 61
    bar.update(task, description="what if: ring")
    told = [line.partition(": ")[2] for line in capsys.readouterr().err.splitlines()]
    assert told == ["checking: 25 %", "checking: 50 %", "checking: 75 %", "checking: 100 %",
                    "what if: ring"]  # fmt: skip


def test_work_that_does_not_tell_how_far_it_is_is_told_by_its_time(monkeypatch):
    seen = []

    class Bar(output.Lines):
        def update(self, task, completed=None, description=None):
            seen.append(completed)

    monkeypatch.setattr(output, "progress_bar", Bar)
    monkeypatch.setattr(output, "_STEP_S", 0.001)
    with output.elapsing("measuring", 1e-9):
        while len(seen) < 3:
            pass
    assert set(seen) == {0.99e-9}  # never all before it is done


# ---- closed streams


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", ">&- 2>&- <&-"])
def test_streams_may_be_closed(closed):
    script = f"./latecomer algorithms --json {closed}; echo the code is $?"
    done = subprocess.run(
        ["sh", "-c", script], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.stdout.endswith("the code is 0\n")
    assert done.stderr == ""
    assert ("recursive_doubling" in done.stdout) is (">&-" not in closed.replace("2>&-", ""))


def test_a_result_that_cannot_be_printed_is_an_error(monkeypatch, capsys):
    with open("/dev/full", "w") as full:  # noqa: PTH123
        monkeypatch.setattr(sys, "stdout", full)
        assert cli.run(["version"]) == 1
        monkeypatch.undo()
    assert "cannot read or write standard output: No space left" in capsys.readouterr().err


@pytest.mark.parametrize(("columns", "width"), [(0, 40), (30, 40), (77, 77)])
def test_a_table_is_as_wide_as_its_terminal(monkeypatch, columns, width):
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr(os, "get_terminal_size", lambda _: os.terminal_size((columns, 9)))
    assert output._width(sys.__stdout__) == width


def test_a_terminal_that_does_not_tell_its_width_has_the_usual_one(monkeypatch, tmp_path):
    monkeypatch.delenv("COLUMNS", raising=False)
    with (tmp_path / "file").open("w") as no_terminal:
        assert output._width(no_terminal) == output._USUAL


def test_only_a_terminal_gets_a_bar(monkeypatch):
    assert isinstance(output.progress_bar(), output.Lines)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert not isinstance(output.progress_bar(), output.Lines)


def test_many_choices_of_a_parameter_break_at_spaces(capsys):
    _, out, _ = run(capsys, "algorithms", "nodes", "--collective", "bcast")
    assert "among=binomial | flat | linear" in " ".join(out.split())
