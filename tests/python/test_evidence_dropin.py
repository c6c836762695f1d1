"""Evidence of the drop-in library in short: mpi4py's own tests, and a long series of mixed calls.

The long forms are scripts of evidence/ (docs/evidence-dropin.md).
"""

import importlib.metadata
import subprocess
import sys
from types import SimpleNamespace

import pytest
from latecomer.launch import preload, program
from latecomer.launch.dropin import Comparison, Ended
from latecomer.verbs.compare import comparison_json
from mpi_helpers import installed
from scenes_helpers import ROOT, both_families

EVIDENCE = ROOT / "evidence"


def run_script(name: str, *words: str) -> str:
    """What a script of evidence/ prints; fails the test if it says that something is wrong."""
    if program.find_built(preload.LIBRARY) is None:
        pytest.skip("the drop-in library is not built")
    command = [sys.executable, str(EVIDENCE / name), *words]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@pytest.fixture(scope="module")
def suite():
    """mpi4py's tests, fetched if need be."""
    sys.path.insert(0, str(EVIDENCE))
    import mpi4py_suite

    try:
        found = importlib.metadata.version("mpi4py")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("mpi4py is not installed")
    if found != mpi4py_suite.VERSION:
        pytest.skip(f"the tests of mpi4py {mpi4py_suite.VERSION} do not fit {found}")
    try:
        return mpi4py_suite.sources()
    except subprocess.SubprocessError:
        pytest.skip(f"the sources of mpi4py {mpi4py_suite.VERSION} cannot be fetched")


@pytest.mark.parametrize(("name", "ranks"), [("openmpi", 3), ("mpich", 2)])
def test_mpi4py_passes_and_skips_the_same_tests_while_every_rank_handles_calls(suite, name, ranks):
    installed(name)
    words = ["--mpi", name, "--ranks", str(ranks), "--ways", "random", "--arrivals", "random"]
    out = run_script("mpi4py_suite.py", *words)
    assert f"right: {name}, {ranks} ranks, random seed 1, arrivals: random" in out
    assert "| 526 |" in out


def test_a_run_that_ends_otherwise_than_without_the_library_is_told(monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(EVIDENCE))
    import mpi4py_suite

    def execute(run, *_):
        ended = mpi4py_suite.jobs.Ended(0 if run.way == "without" else 139, 1.0, "", "")
        return ended, [{"a.test": "passed"}], []

    monkeypatch.setattr(mpi4py_suite, "execute", execute)
    options = SimpleNamespace(ways="auto", arrivals="none", seed=1, tests="", deadline=1.0)
    verdicts = mpi4py_suite.Verdicts(None)
    assert not mpi4py_suite.check("openmpi", 1, options, verdicts)
    assert "exit code 139, without the library 0" in capsys.readouterr().out


@both_families
def test_each_result_of_a_long_series_of_mixed_calls_is_right(name):
    installed(name)
    out = run_script("soak_dropin.py", "--mpi", name, "--ranks", "2,3", "--calls", "4000")
    assert out.count("right: ") == 10
    assert "all is right" in out


def test_a_gain_within_the_noise_is_told_to_be_that(monkeypatch):
    monkeypatch.syspath_prepend(str(EVIDENCE))
    import dropin_gains

    found = Comparison([10.1, 10.2, 9.9], [9.0, 9.0, 9.0], [10.0, 11.7, 10.1], Ended(0, 9.0))
    row = dropin_gains.told("cg", dropin_gains.Place(4, 4, "200mbit"), comparison_json(found), 2.0)
    assert row == (
        "| cg | 4 x 4 | 10.10 | 9.00 | +10.9 (+10.9 to +10.9) "
        "| +0.0 (-15.8 to +2.0); no significant difference | +19.8 |"
    )


def test_a_wrong_result_of_the_long_series_is_found(tmp_path):
    """A library in front of MPI's changes an element, once."""
    source, library = tmp_path / "wrong.c", tmp_path / "wrong.so"
    source.write_text(
        "#include <mpi.h>\n"
        "int MPI_Bcast(void* b, int n, MPI_Datatype t, int root, MPI_Comm c) {\n"
        "  static int calls;\n"
        "  const int code = PMPI_Bcast(b, n, t, root, c);\n"
        "  if (n > 0 && ++calls == 100) ((unsigned char*)b)[0] ^= 64;\n"
        "  return code;\n"
        "}\n"
    )
    family = installed("openmpi")
    subprocess.run([family.mpicc, "-shared", "-fPIC", source, "-o", library], check=True)
    words = ["--mpi", "openmpi", "--ways", "fastest", "--calls", "2000"]
    command = [sys.executable, str(EVIDENCE / "soak_dropin.py"), *words, "--before", str(library)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert ended.returncode == 1, ended.stdout
    assert "bcast of" in ended.stdout
