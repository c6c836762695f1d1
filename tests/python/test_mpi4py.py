"""latecomer from mpi4py: the same results as mpi4py's own collectives, statistics, observations."""

import ctypes
import re
import subprocess
import sys
from pathlib import Path

import pytest
from dropin_helpers import Job, launcher_of, run_command
from latecomer.launch import preload, program
from mpi_helpers import FAMILIES
from scenes_helpers import ROOT

CASES = ROOT / "tests" / "python" / "jobs" / "mpi4py_cases.py"
HEADER = ROOT / "include" / "latecomer" / "latecomer_mpi.h"


def without_start() -> None:
    """mpi4py in this process, without a job of one rank."""
    mpi4py = pytest.importorskip("mpi4py", reason="mpi4py is not installed")
    mpi4py.rc.initialize = mpi4py.rc.finalize = False


def start_job(name: str, ranks: int, *cases: str, dropin: str = "") -> Job:
    """`dropin`: its mode, as LATECOMER names it; empty: without it."""
    pytest.importorskip("mpi4py", reason="mpi4py is not installed")
    if program.find_library(name) is None:
        pytest.skip(f"liblatecomer_{name}.so is not built")
    launch = launcher_of(name, ranks, [sys.executable, str(CASES), *cases])
    command = launch.command
    if dropin:
        variables = {"LATECOMER": dropin, "LATECOMER_MIN_BYTES": "0"}
        command = preload.preloading(command, preload.library(), variables)
    return run_command(command, launch.env | {"PYTHONPATH": str(ROOT / "python")})


def run_job(name: str, ranks: int, *cases: str, dropin: str = "") -> Job:
    return start_job(name, ranks, *cases, dropin=dropin).check()


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("ranks", [2, 3])
def test_all_is_as_with_mpi4py_itself(name, ranks):
    assert len(run_job(name, ranks).mistakes) == 17


@pytest.mark.parametrize("name", FAMILIES)
def test_a_rank_that_fails_ends_the_job(name):
    job = start_job(name, 2, "broken")
    assert job.code == 1  # its last words may be lost: the launcher ends with the first rank
    assert "broken: 0" not in job.out


@pytest.mark.parametrize("name", FAMILIES)
def test_a_program_that_is_not_changed_is_observed(name):
    job = run_job(name, 2, "unchanged_program", "observed", dropin="on")
    assert set(job.mistakes) == {"unchanged_program", "observed"}


@pytest.mark.parametrize("name", FAMILIES)
def test_a_block_under_observe_says_why_it_has_no_times(name):
    job = run_job(name, 2, "under_observe", dropin="observe")
    assert set(job.mistakes) == {"under_observe"}


def test_latecomer_is_imported_without_mpi4py():
    code = """
import sys
sys.modules["mpi4py"] = None
import latecomer
from latecomer import *
print("Communicator" in dir(latecomer), hasattr(latecomer, "frob"))
latecomer.mpi
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                           env={"PYTHONPATH": str(ROOT / "python")}, check=False)  # fmt: skip
    assert ended.stdout == "True False\n"
    assert "latecomer.mpi needs mpi4py" in ended.stderr
    assert "pip install mpi4py" in ended.stderr


def members(struct: str) -> list[str]:
    """The names of a struct's members in the header."""
    text = re.sub(r"/\*.*?\*/", "", HEADER.read_text(encoding="utf-8"), flags=re.DOTALL)
    body = re.search(rf"typedef struct {struct} \{{(.*?)\}} {struct};", text, re.DOTALL)[1]
    return re.findall(r"(\w+)(?:\[\w+\])?;", body)


def test_structs_are_those_of_the_header():
    without_start()
    from latecomer.mpi import statistics

    for struct, name in (
        (statistics.CalledStruct, "latecomer_stats"),
        (statistics.TimesStruct, "latecomer_times"),
        (statistics.ChoiceStruct, "latecomer_choice_stats"),
        (statistics.KeyStruct, "latecomer_key_stats"),
    ):
        assert [member for member, *_ in struct._fields_] == members(name)
    assert ctypes.sizeof(statistics.ChoiceStruct) == 32 + 96 + 8


def test_functions_are_those_of_the_header():
    without_start()
    from latecomer.mpi.library import ALL

    text = HEADER.read_text(encoding="utf-8")
    declared = set(re.findall(r"LATECOMER_API int latecomer_(\w+)\(", text))
    unused = {"edge", "get_site_stats"}  # deprecated; places of Python code have no address
    assert set(ALL) == declared - unused
    for name, words in ALL.items():
        parameters = re.search(rf"latecomer_{name}\((.*?)\);", text, re.DOTALL)[1]
        assert len(words) == parameters.count(",") + 1, name


def test_no_function_takes_an_int_that_is_not_looked_at():
    without_start()
    from latecomer.mpi.library import ALL

    assert not [name for name, words in ALL.items() if ctypes.c_int in words]


@pytest.mark.parametrize(
    ("text", "file", "message"),
    [
        ("Vendor MPI 1.0", "MPI.so", "unknown MPI library: Vendor MPI 1.0; use Open MPI or MPICH"),
        (
            "MPICH Version: 5.0",
            "MPI.mpiabi.so",
            "latecomer.mpi has no library for MPI 5's standard ABI",
        ),
    ],
)
def test_libraries_that_do_not_fit_are_named(text, file, message, monkeypatch):
    without_start()
    from latecomer.base.errors import UserError
    from latecomer.mpi import library

    class Mpi:
        __file__ = file
        Get_library_version = staticmethod(lambda: text)

    monkeypatch.setattr(library, "MPI", Mpi)
    with pytest.raises(UserError, match=re.escape(message)):
        library.family()


def test_a_library_that_is_not_built_is_named(monkeypatch):
    without_start()
    from latecomer.base.errors import UserError
    from latecomer.mpi import library

    monkeypatch.setattr(library.program, "find_library", lambda family: None)
    library.library.cache_clear()
    with pytest.raises(UserError, match=r"the C library is not built: liblatecomer_\w+.so"):
        library.library()
    library.library.cache_clear()


def test_a_library_that_cannot_be_loaded_is_named(monkeypatch, tmp_path):
    without_start()
    from latecomer.base.errors import UserError
    from latecomer.mpi import library

    broken = tmp_path / "liblatecomer.so"
    broken.write_text("no library")
    monkeypatch.setattr(library.program, "find_library", lambda family: Path(broken))
    library.library.cache_clear()
    with pytest.raises(UserError, match="cannot load the C library"):
        library.library()
    library.library.cache_clear()


def test_a_call_that_cannot_be_announced_leaves_nothing_behind():
    without_start()
    from latecomer.mpi.calls import Call
    from latecomer.mpi.request import Request
    from mpi4py import MPI

    class Library:
        def __init__(self):
            self.called = []

        def call(self, name, *_):
            self.called.append(name)
            if self.called == ["allreduce_init"] * 2:
                raise MemoryError

    class Datatype:
        freed = 0

        def Free(self):  # noqa: N802 - MPI's name
            self.freed += 1

    library, made = Library(), [Datatype() for _ in range(3)]
    some = [Call("allreduce", (), [each]) for each in made]
    with pytest.raises(MemoryError):
        Request(library, MPI.COMM_NULL, some)
    assert library.called == ["allreduce_init", "allreduce_init", "request_free"]
    assert [each.freed for each in made] == [1, 1, 1]
