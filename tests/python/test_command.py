"""The command line: words that become arguments, old words, and the imports of a verb."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import pytest
from bench_helpers import run_verb
from latecomer.command.declare import UsageError, argument, flag, option, parameters
from latecomer.command.parse import read
from simulate_helpers import SMALL, refusal, rows_of, simulate

ROOT = Path(__file__).parents[2]


def verb(
    name: Annotated[str, argument("NAME", "A name.")],
    size: Annotated[int, option("--size", "N", "A size.", min=1, max=9)] = 3,
    part: Annotated[float | None, option("--part", "X", "A part.", also="-p", min=0)] = None,
    files: Annotated[list[Path] | None, option("--file", "FILE", "A file.")] = None,
    fast: Annotated[bool, flag("--fast", "Be fast.")] = False,
) -> None:
    """Do something."""


def runner(command: Annotated[list[str], argument("COMMAND...", "A program.")]) -> None:
    """Run something."""


# ---- words


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("a", {"name": "a", "size": 3, "part": None, "files": None, "fast": False}),
        ("--size 4 a --fast", {"size": 4, "fast": True, "name": "a"}),
        ("a --size=4 --size 5", {"size": 5}),
        ("a -p 0.5", {"part": 0.5}),
        ("a --file x --file=y=z", {"files": [Path("x"), Path("y=z")]}),
        ("-- --fast", {"name": "--fast", "fast": False}),
        ("-", {"name": "-"}),
    ],
)
def test_words_become_arguments(words, expected):
    found = read(parameters(verb), words.split())
    assert {key: found[key] for key in expected} == expected


def test_a_command_keeps_its_own_options():
    words = ["./app", "--fast", "--", "x"]
    assert read(parameters(runner), words) == {"command": words}
    assert read(parameters(runner), ["--", *words]) == {"command": words}


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("", "Missing argument 'NAME'"),
        ("a b", "unexpected extra argument (b)"),
        ("a --sise 4", "No such option '--sise'; did you mean --size."),
        ("a --size", "Option '--size' needs a value"),
        ("a --fast=yes", "Option '--fast' takes no value, and has 'yes'"),
        ("a --size x", "Invalid value for --size: 'x'; give a whole number from 1 to 9."),
        ("a --size 10", "Invalid value for --size: 10; give a number from 1 to 9."),
        ("a -p nan", "Invalid value for --part: nan; give a number from 0 up."),
        ("a -p -1", "Invalid value for --part: -1; give a number from 0 up."),
    ],
)
def test_words_that_make_no_sense_are_errors(words, complaint):
    with pytest.raises(UsageError) as raised:
        read(parameters(verb), words.split())
    assert complaint in str(raised.value)


def test_help_is_asked_for_anywhere():
    assert read(parameters(verb), ["a", "--size", "1", "--help"]) is None


VERBS = ["bench", "simulate", "calibrate", "algorithms", "verify", "show", "reproduce", "doctor",
         "lab run", "lab check", "lab shell"]  # fmt: skip


@pytest.mark.parametrize("name", VERBS)
def test_help_is_made_of_sentences(name, monkeypatch):
    """Each option's text begins with a capital letter and no fragment, and ends with a stop."""
    from latecomer.cli import COMMANDS

    group, _, last = name.rpartition(" ")
    commands = COMMANDS.commands[group] if group else COMMANDS
    for each in parameters(commands.verb(last)):
        text = each.option.help
        assert text[0].isupper(), text
        assert text.endswith("."), text
        first = text.split()[0]
        assert first not in {"Of", "Who", "What", "Whether", "How", "For", "Both", "When"}, text


def test_help_fits_a_narrow_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    shown = run_verb("simulate", "--help").stdout
    wide = [line for line in shown.splitlines() if len(line) > 60]
    assert all(len(line.split()) == 1 or line.startswith("  --") for line in wide)  # unbreakable
    assert "[from 1 up; default: 32]" in " ".join(shown.split())
    assert "--network COSTS" in shown
    assert "PLACE" not in run_verb("calibrate", "--help").stdout.split("--place")[0]  # hidden


# ---- old words


def test_the_old_estimate_is_accepted_with_a_note(capsys):
    _, new, quiet = simulate(capsys, *SMALL, "--estimate", "reversed", "--format", "csv")
    code, old, err = simulate(capsys, *SMALL, "--estimate", "wrong", "--format", "csv")
    note = "latecomer: note: --estimate wrong is deprecated; use --estimate reversed"
    assert (code, old) == (0, new)
    assert note in err.splitlines()
    assert note not in quiet


def test_the_old_progress_is_accepted_with_a_note(capsys):
    code, _, err = simulate(capsys, *SMALL, "--progress", "declared")
    assert code == 0
    assert "note: --progress declared is deprecated; use --progress as-configured" in err


def test_the_old_times_of_show_are_accepted_with_a_note():
    new = run_verb("show", "ring", "--ranks", "2", "--times", "1,0")
    old = run_verb("show", "ring", "--ranks", "2", "--arrival", "1,0")
    assert (new.exit_code, new.stderr) == (0, "")
    assert (old.exit_code, old.stdout) == (0, new.stdout)
    assert old.stderr == "latecomer: note: --arrival 1,0 is deprecated; use --times 1,0\n"
    both = run_verb("show", "ring", "--ranks", "2", "--arrival", "1,0", "--times", "1,0")
    assert (both.exit_code, both.stdout) == (2, "")
    assert "'1,0'; leave it out beside --times" in both.stderr


@pytest.mark.parametrize("name", ["bench", "calibrate"])
def test_the_old_name_of_a_place_is_accepted_with_a_note(name):
    found = run_verb(name, "--network", "local", "--rate", "1gbit")
    note, error = found.stderr.splitlines()
    assert note == "latecomer: note: --network local is deprecated; use --place local"
    assert "--rate with --place local: 1gbit" in error


# ---- nodes


def test_ranks_are_nodes_times_per_node(capsys):
    rows = rows_of(capsys, *SMALL, "--nodes", "2,3", "--per-node", "2")
    assert [row["ranks"] for row in rows[::2]] == ["4", "6"]
    assert all("per_node=2" in row["network"] for row in rows)
    flat = rows_of(capsys, *SMALL, "--nodes", "4", "--per-node", "1")
    assert flat == rows_of(capsys, *SMALL, "--nodes", "4")
    assert flat[0]["elapsed_ms"] != rows[0]["elapsed_ms"]


def test_nodes_count_ranks_where_only_the_network_knows_them(capsys):
    words = [*SMALL, "--network", "per_node=2", "--nodes", "4"]
    code, out, err = simulate(capsys, *words, "--format", "csv")
    assert code == 0
    assert "note: the network has per_node=2, with which --nodes 4 counts ranks" in err
    said = rows_of(capsys, *SMALL, "--nodes", "2", "--per-node", "2")
    assert out.splitlines()[1].split(",")[3] == said[0]["ranks"] == "4"
    assert rows_of(capsys, *words, "--per-node", "2")[0]["ranks"] == "8"


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--per-node", "0"], "Invalid value for --per-node: 0; give a number from 1 up"),
        (["--per-node", "2", "--network", "per_node=3"],
         "--per-node 2 with per_node in --network: 3; leave one of them out"),
        (["--per-node", "2", "--nodes", "2049"], "--nodes out of range: 2049; use 1 to 2048"),
    ],
)  # fmt: skip
def test_nodes_that_make_no_sense_are_refused(capsys, words, complaint):
    assert complaint in refusal(capsys, *words)


# ---- imports

_SCRIPT = """
import json, sys
from latecomer import cli
code = cli.run(sys.argv[1:])
print(json.dumps([code, sorted(sys.modules)]), file=sys.stderr)
"""
_NEVER = {"typer", "pydantic", "matplotlib"}


@pytest.mark.parametrize(
    ("words", "unused"),
    [
        (["--help"], {"numpy", "rich", "latecomer._core", "latecomer.lab"}),
        (["simulate", "--help"], {"numpy", "rich", "latecomer._core", "latecomer.lab"}),
        (["simulate", *SMALL], {"numpy", "rich.progress", "latecomer.lab"}),
        (["simulate", *SMALL, "--format", "csv"], {"numpy", "rich", "latecomer.lab"}),
        (["algorithms", "--json"], {"numpy", "rich", "latecomer.lab"}),
    ],
)
def test_a_verb_imports_only_what_it_needs(words, unused):
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT, *words],
        env=os.environ | {"PYTHONPATH": str(ROOT / "python")},
        capture_output=True,
        text=True,
        check=True,
    )
    code, loaded = json.loads(done.stderr.splitlines()[-1])
    assert code == 0
    assert not (unused | _NEVER) & set(loaded)
