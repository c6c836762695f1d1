"""Commands in README and the documentation are understood, and the cheap ones end well."""

import os
import re
import shutil
import signal
import subprocess
from contextlib import contextmanager

import latecomer
import pytest
from documents_helpers import ROOT, Shown, block_lines, commands_of, shown_commands
from latecomer.cli import COMMANDS, run
from latecomer.command.declare import Group, UsageError, parameters
from latecomer.command.parse import read
from latecomer.lab.bench import job
from latecomer.launch import program

# Folders of the clone that commands of pages read: others, as `traces`, are the reader's.
LINKED = ("examples", "evidence", "tests")
EXECUTED = {"algorithms", "doctor", "report", "show", "simulate", "verify"}
SECONDS = 30  # for each command
# Commands that take longer than two seconds, by words that name one of them each.
LONG = (
    "--nodes 2-64 --bytes 1KiB,64KiB,4MiB",
    "verify --ranks 1-17 --patterns 20",
    "--ranks 1-64 --all",
    "jitter=0.6",
    "switch48.xml",
    "--delay 178ms,356ms,711ms",
    "--nodes 1024",
    "--nodes 2-128",
    "--nodes 16-1024:x2",
)
# Algorithms that a page tells the reader to write.
NEW = {"direct"}
# Where the command line names algorithms.
NAMING = {"--algorithms", "--beside", "ALGORITHM"}


def unique(wanted) -> list[Shown]:
    """Each command once, with the first page that shows it."""
    found: dict[tuple[str, ...], Shown] = {}
    for each in shown_commands():
        if wanted(each):
            found.setdefault(each.words, each)
    return list(found.values())


def verb_of(words, group: Group = COMMANDS):
    """The function of a verb, and the words behind its name. Raises UsageError."""
    first, *rest = words
    if first not in group.commands:
        raise UsageError(f"no verb '{first}'")
    found = group.commands[first]
    if not isinstance(found, Group):
        return group.verb(first), rest
    return verb_of(rest, found) if rest else (None, [])


def complete(words) -> list[str] | None:
    """The words without the dots that stand for more; None: a stand-in such as VERB."""
    known = [word for word in words if word != "..."]
    if known[:1] and (known[0] in {"--version", "--help"} or known[0].isupper()):
        return None
    return known


def fault(shown: Shown) -> str:
    """Say why the command would not be understood; "": it would be."""
    words = complete(shown.words)
    if words is None:
        return ""
    try:
        verb, rest = verb_of(words)
        if verb is None or (not shown.block and len(rest) == 0):
            return ""  # a sentence about the verb
        values = read(declared := parameters(verb), rest)
    except UsageError as error:
        # A sentence may speak of an option alone.
        incomplete = not shown.block and re.search("needs a value|^Missing", str(error))
        return "" if incomplete else str(error)
    named = [values[each.key] for each in declared if values and each.name in NAMING]
    return unknown_algorithm([each for each in named if each])


def unknown_algorithm(lists: list[str]) -> str:
    known = {row.name for row in latecomer.algorithms()} | NEW
    known |= {"all", "native", "openmpi-4.1", "mpich-5.0"}
    for name in ",".join(lists).split(","):
        if name and name.partition(":")[0] not in known:
            return f"no algorithm '{name}'"
    return ""


def test_documented_commands_are_understood():
    faults = [f"{each}: {why}" for each in shown_commands() if (why := fault(each))]
    assert faults == []
    assert len(unique(lambda each: each.block)) > 40


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("./latecomer simulat --nodes 4", "no verb 'simulat'"),
        ("./latecomer simulate --node 4", "No such option '--node'"),
        ("latecomer run -- mpirun ./latecomer show", "Missing argument 'ALGORITHM'"),
        ("./latecomer simulate --algorithms ring,rong", "no algorithm 'rong'"),
        ("A=1 ./latecomer lab start", "no verb 'start'"),
        ("./latecomer show ring \\\n        --ranks", "needs a value"),
        ("cd x && ./latecomer show ring --ranks four", "'four'"),
    ],
)
def test_a_wrong_command_is_found(line, why):
    found = [fault(each) for each in commands_of("page", f"Text.\n\n    {line}  # why\n")]
    assert any(why in each for each in found), found


def test_words_that_are_no_commands_are_left_alone():
    page = "`latecomer`\n\n    spack install latecomer ^openmpi\n\n```python\nlatecomer.x()\n```\n"
    assert list(commands_of("page", page)) == []


def executed(shown: Shown) -> bool:
    """A report needs a trace, and pages speak of the reader's, whatever lies in the clone."""
    if not shown.block or shown.words[0] not in EXECUTED or is_long(shown):
        return False
    if shown.words[0] != "report":
        return True
    return shown.words[1].split("/")[0] in LINKED and (ROOT / shown.words[1]).is_dir()


def is_long(shown: Shown) -> bool:
    return any(words in " ".join(shown.words) for words in LONG)


@contextmanager
def deadline(seconds: int):
    def late(_number, _frame):
        raise TimeoutError(f"more than {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder from which the paths of the commands lead to the clone's files, or to new ones."""
    (tmp_path / "docs" / "pictures").mkdir(parents=True)
    for name in LINKED:
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LATECOMER_NETWORK", "")
    monkeypatch.setenv("XDG_CONFIG_HOME", os.fspath(tmp_path))
    return tmp_path


@pytest.mark.parametrize("shown", unique(executed), ids=str)
def test_a_documented_command_ends_well(shown, folder, capsys):
    if "simgrid" in shown.words and not (ROOT / "build/release/latecomer_simgrid").exists():
        pytest.skip("SimGrid is not installed")
    with deadline(SECONDS):
        code = run(shown.words)
    assert (code, shown.text) == (0, shown.text), capsys.readouterr().err
    for name in re.findall(
        r"--(?:svg|html|plot|report|output|csv|perfetto) (\S+)", " ".join(shown.words)
    ):
        assert (folder / name).stat().st_size > 0, name


def test_the_list_of_long_commands_is_current():
    shown = [each for each in unique(lambda each: each.block) if each.words[0] in EXECUTED]
    for words in LONG:
        assert any(words in " ".join(each.words) for each in shown), words


def is_benchmark(shown: Shown) -> bool:
    """Within a job it cannot start here."""
    return shown.block and shown.words[0] == "bench" and "inherit" not in shown.words


def not_built(shown: Shown) -> str:
    """The MPI library that the benchmark names, if the build has no program of it."""
    named = shown.words[shown.words.index("--mpi") + 1] if "--mpi" in shown.words else ""
    return named if named and program.find(named) is None else ""


class PlannedError(Exception):
    """The benchmark has been understood, and would start now."""


@pytest.mark.parametrize("shown", unique(is_benchmark), ids=str)
def test_a_documented_benchmark_could_start(shown, folder, monkeypatch):
    if named := not_built(shown):
        pytest.skip(f"the build has no benchmark of {named}")

    def measure(*_):
        raise PlannedError

    monkeypatch.setattr(job, "measure", measure)
    with pytest.raises(PlannedError):
        run(shown.words)


def test_a_benchmark_of_a_library_that_the_build_lacks_is_refused(monkeypatch, capsys):
    """So it is left out above."""
    monkeypatch.setattr(program, "find", lambda *_: None)
    words = ("bench", "--mpi", "mpich", "--place", "local")
    assert not_built(Shown("page", words, block=True)) == "mpich"
    assert not_built(Shown("page", words[:1], block=True)) == ""
    assert run(words) != 0
    assert "the benchmark program is not built" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("named", "runs"),
    [("traces", False), ("build", False), ("tests/python/kineto", True), ("tests/no", False)],
)
def test_a_folder_of_the_reader_is_no_trace_of_the_clone(named, runs):
    assert executed(Shown("page", ("report", named), block=True)) is runs


# Of the tutorial: they build, or need minutes and an emulated cluster.
LEFT_OUT = ("./demo", "./latecomer lab run")


def test_the_tutorial_works(folder):
    if shutil.which("mpicc") is None:
        pytest.skip("no mpicc on this machine")
    page = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    lines = [each for each in block_lines(page) if each and not each.startswith(LEFT_OUT)]
    lines = [each for each in lines if not each.startswith("latecomer: ")]
    assert len(lines) >= 7
    (folder / "latecomer").symlink_to(ROOT / "latecomer")
    env = {
        **os.environ,
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
    }
    said = ""
    for line in lines:
        done = subprocess.run(["bash", "-c", line], env=env, capture_output=True, text=True,
                              timeout=600, check=False)  # fmt: skip
        assert (done.returncode, line) == (0, line), done.stderr
        said += done.stdout + done.stderr
    assert "who:   " in said
    assert "What if" in said  # what the second step would bring
    assert {"ring.svg", "owners.svg", "call.html", "late"} <= {
        each.name for each in folder.iterdir()
    }
