"""The command line: words that become arguments, and the imports of a verb."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import pytest
from bench_helpers import run_verb
from latecomer.cli import run
from latecomer.command.declare import Seconds, UsageError, argument, flag, option, parameters
from latecomer.command.parse import read
from latecomer.verbs.commands import COMMANDS
from simulate_helpers import SMALL

ROOT = Path(__file__).parents[2]


def verb(
    name: Annotated[str, argument("NAME", "A name.")],
    size: Annotated[int, option("--size", "N", "A size.", min=1, max=9, old=("--old-size",))] = 3,
    part: Annotated[float | None, option("--part", "X", "A part.", also="-p", min=0)] = None,
    files: Annotated[list[Path] | None, option("--file", "FILE", "A file.")] = None,
    fast: Annotated[bool, flag("--fast", "Be fast.")] = False,
    wait: Annotated[Seconds | None, option("--wait", "TIME", "Wait so long.")] = None,
) -> None:
    """Do something."""


def runner(command: Annotated[list[str], argument("COMMAND...", "A program.")]) -> None:
    """Run something."""


def runner_with_option(
    command: Annotated[list[str], argument("COMMAND...", "A program.")],
    size: Annotated[int, option("--size", "N", "A size.", min=1, max=9)] = 3,
) -> None:
    """Run something."""


def numbers():
    """Each option that is a number, of all verbs."""
    return [(words, each) for words, verb in COMMANDS.verbs() for each in parameters(verb)
            if each.type in (int, float)]  # fmt: skip


@pytest.mark.parametrize(("verb", "given"), numbers(), ids=lambda each: getattr(each, "name", each))
def test_numbers_have_bounds_and_huge_ones_are_refused(verb, given):
    least, most = given.option.min, given.option.max
    assert least is not None
    assert most is not None
    assert given.read(str(least)) == least
    assert given.read(str(most)) == most
    for text in ("1" + 20 * "0", "1" + 400 * "0", "inf", "nan", "-1" + 20 * "0"):
        with pytest.raises(UsageError, match=f"{text}'?; give a .*number from {least} to {most}"):
            given.read(text)
    if most < 10**10:
        with pytest.raises(UsageError, match=f"{10**10}; give a number from {least} to {most}"):
            given.read(str(10**10))


def verbs_with_free_words():
    """Each verb that takes words without a name: its parameters."""
    for words, verb in COMMANDS.verbs():
        found = parameters(verb)
        if not all(each.option.names for each in found):
            yield pytest.param(found, id=words)


@pytest.mark.parametrize("declared", list(verbs_with_free_words()))
def test_options_may_stand_before_and_behind_what_has_no_name(tmp_path, declared):
    """A folder is no program, whose options would be its own."""
    free = [each for each in declared if not each.option.names]
    words = [str(tmp_path)] * len(free[:1] if free[0].repeated else free)
    options = []
    for each in declared:
        if each.option.names:
            least = 1.0 if each.option.min is None else each.option.min
            value = [] if each.is_flag else [str(least if each.type is float else int(least))]
            options += [each.option.names[-1], *value]
    before, behind = read(declared, options + words), read(declared, words + options)
    assert before == behind
    assert None not in before.values()


def test_the_options_of_a_program_are_its_own(tmp_path, monkeypatch):
    declared = parameters(runner_with_option)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sh").mkdir()  # beside a program of that name
    assert read(declared, ["sh", "--size", "4"]) == {"command": ["sh", "--size", "4"], "size": 3}
    assert read(declared, ["--", str(tmp_path), "--size", "4"])["size"] == 3


HUGE = "9999999999"


@pytest.mark.parametrize("words", [
    "simulate --nodes 4 --algorithms ring --iterations {}", "simulate --nodes {}",
    "simulate --ranks {}", "simulate --nodes 4 --per-node {}", "bench --iterations {}",
    "bench --place local --nodes 2 --per-node {}", "bench --place local --nodes {}",
    "bench --place local --nodes 4000 --per-node 4000",
    "tune --place local --nodes {} --output z.json",
    "show ring -n 4 --per-node {}", "show linear_tree -n 4 --root {}", "show ring -n {}",
    "verify --ranks {}", "rules explain {rules} --collective allreduce --bytes 1MiB --ranks {}",
    "rules explain {rules} --collective allreduce --bytes 1MiB --ranks 4 --per-node {}",
    "rules explain {rules} --collective allreduce --bytes 1MiB --ranks 4 --late-ranks {}",
    "report tr1 --budget inf", "report tr1 --budget 1e308", "lab run --nodes {} --rate 1gbit x",
])  # fmt: skip
def test_huge_numbers_are_errors_and_no_tracebacks(tmp_path, monkeypatch, capsys, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rules.json").write_text('{"version": 1, "rules": []}')
    text = words.replace("{}", HUGE).replace("{rules}", "rules.json")
    assert run(text.split()) in (1, 2)
    assert capsys.readouterr().err.startswith("latecomer: error: ")


@pytest.mark.parametrize(("error", "says"), [
    (MemoryError(), "not enough memory"), (OverflowError("x"), "a number is too large"),
    (TypeError("f(): incompatible function arguments. Two lines\n1. f"), "a number is too large"),
])  # fmt: skip
def test_what_no_bound_holds_names_the_command(monkeypatch, capsys, error, says):
    def fail(*_):
        raise error

    monkeypatch.setattr("latecomer.cli.dispatch", fail)
    assert run(["show", "a b"]) == 1
    assert capsys.readouterr().err.startswith(f"latecomer: error: show 'a b': {says}")


def test_an_error_in_the_program_keeps_its_traceback(monkeypatch):
    def fail(*_):
        raise TypeError("unexpected keyword")

    monkeypatch.setattr("latecomer.cli.dispatch", fail)
    with pytest.raises(TypeError):
        run(["show"])


# ---- words


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("a", {"name": "a", "size": 3, "part": None, "files": None, "fast": False}),
        ("--size 4 a --fast", {"size": 4, "fast": True, "name": "a"}),
        ("a --size=4 --size 5", {"size": 5}),
        ("a -p 0.5", {"part": 0.5}),
        ("a --file x --file=y=z", {"files": [Path("x"), Path("y=z")]}),
        ("a -p0.5", {"part": 0.5}),
        ("a -p=0.5", {"part": 0.5}),
        ("a --old-size 4", {"size": 4}),
        ("-- --fast", {"name": "--fast", "fast": False}),
        ("-", {"name": "-"}),
        ("a --wait 90", {"wait": 90.0}),
        ("a --wait 1.5s", {"wait": 1.5}),
        ("a --wait 1m", {"wait": 60.0}),
        ("a --wait 10min", {"wait": 600.0}),
        ("a --wait 2h", {"wait": 7200.0}),
        ("a --wait 1e2", {"wait": 100.0}),
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
        ("a --old-sise 4", "No such option '--old-sise'; did you mean --size."),
        ("a -q4", "No such option '-q4'."),
        ("a --size", "Option '--size' needs a value"),
        ("a --file -", "Invalid value for --file: '-', which is no file: standard input and"),
        ("a --fast=yes", "Option '--fast' takes no value, and has 'yes'"),
        ("a --size x", "Invalid value for --size: 'x'; give a whole number from 1 to 9."),
        ("a --size 10", "Invalid value for --size: 10; give a number from 1 to 9."),
        ("a -p nan", "Invalid value for --part: nan; give a number from 0 up."),
        ("a -p -1", "Invalid value for --part: -1; give a number from 0 up."),
        ("a --file=", "Invalid value for --file: ''; give a path."),
        *(
            (f"a --wait={text}", f"Invalid value for --wait: '{text}'; give seconds or a time with")
            for text in ("nan", "inf", "0", "-1", "1e99", "1e8s", "soon", "1x", "", "s")
        ),
    ],
)
def test_words_that_make_no_sense_are_errors(words, complaint):
    with pytest.raises(UsageError) as raised:
        read(parameters(verb), words.split())
    assert complaint in str(raised.value)


@pytest.mark.parametrize("word", ["--help", "-h"])
def test_help_is_asked_for_anywhere(word):
    assert read(parameters(verb), ["a", "--size", "1", word]) is None


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
    assert "[from 1 to 1000000; default: 32]" in " ".join(shown.split())
    assert "--network COSTS" in shown
    assert "PLACE" not in run_verb("calibrate", "--help").stdout.split("--place")[0]  # hidden


def test_errors_of_verbs_are_sentences_before_the_help_is_named(capsys):
    from latecomer import cli

    assert cli.run(["run", "--observe", "--off", "--", "mpirun", "x"]) == 2
    said = capsys.readouterr().err
    assert said.endswith("leave out --off or --compare. See 'latecomer run --help'.\n")


@pytest.mark.parametrize("words", [
    "show rinng --ranks 4", "show auto --ranks 4 --html x.html --beside rinng",
    "simulate --nodes 4 --algorithms rinng", "verify --algorithms rinng", "algorithms rinng",
    "bench --algorithms rinng", "tune --algorithms rinng", "run --algorithm rinng -- mpirun x",
    "report x --native rinng",
])  # fmt: skip
def test_a_mistyped_algorithm_is_guessed(words, capsys):
    from latecomer import cli

    assert cli.run(words.split()) == 2
    assert "; did you mean ring" in capsys.readouterr().err


def test_other_mistyped_words_are_guessed(capsys):
    from latecomer import cli

    for words, meant in (("bench --collective allreduse", "allreduce"), ("bench --op maxx", "max")):
        assert cli.run(words.split()) == 2
        assert f"; did you mean {meant}" in capsys.readouterr().err


def test_every_deadline_is_a_time():
    kinds = {each.type for _, verb in COMMANDS.verbs() for each in parameters(verb)
             if each.name == "--deadline"}  # fmt: skip
    assert kinds == {Seconds}


@pytest.mark.parametrize("text", ["", "soon", "1..5s", "--3", "5d", "0", "0.09s", "200000m"])
def test_what_is_no_time_is_refused(text):
    given = next(each for _, verb in COMMANDS.verbs() for each in parameters(verb)
                 if each.type is Seconds)  # fmt: skip
    with pytest.raises(
        UsageError, match=f"'{text}'; give seconds or a time with its unit, from 0.1"
    ):
        given.read(text)


@pytest.mark.parametrize("columns", ["0", "1", "5", "30"])
def test_help_is_printed_on_any_terminal(columns, monkeypatch, capsys):
    from latecomer import cli

    monkeypatch.setenv("COLUMNS", columns)
    for words in ([], ["run", "--help"], ["lab", "--help"]):
        assert cli.run(words) == 0
    assert "--observe" in capsys.readouterr().out


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
        (["--help"], {"numpy", "rich", "latecomer._core", "latecomer.lab.cluster"}),
        (["simulate", "--help"], {"numpy", "rich", "latecomer._core", "latecomer.lab.cluster"}),
        (["simulate", *SMALL], {"numpy", "rich.progress", "latecomer.lab.cluster"}),
        (["simulate", *SMALL, "--format", "csv"], {"numpy", "rich", "latecomer.lab.cluster"}),
        (["algorithms", "--json"], {"numpy", "rich", "latecomer.lab.cluster"}),
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
