"""The worked example of docs/adding-an-algorithm.md, built and used as the page says; and the rows
that the build refuses. The listing and the new list of rows are linked to the existing library."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "release"
BINDINGS = [BUILD / "CMakeFiles" / "latecomer_python.dir" / "python" / f"{source.name}.o"
            for source in sorted((ROOT / "python").glob("*.cpp"))]  # fmt: skip
COMPILER = os.environ.get("CXX", "c++")
FLAGS = ["-std=c++20", "-O1", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra",
         "-Werror=missing-field-initializers"]  # fmt: skip


def run(*command, **options) -> subprocess.CompletedProcess:
    words = [str(word) for word in command]
    return subprocess.run(words, capture_output=True, text=True, check=False, **options)


def listing() -> str:
    page = (ROOT / "docs" / "adding-an-algorithm.md").read_text(encoding="utf-8")
    return page.partition("```cpp\n")[2].partition("```\n")[0]


def list_rows(folder: Path, output: Path) -> subprocess.CompletedProcess:
    """Lists the rows below a folder as the build does."""
    cmake = shutil.which("cmake") or Path(sys.executable).with_name("cmake")
    script = ROOT / "cmake" / "rows.cmake"
    return run(cmake, f"-DFOLDER={folder}", f"-DOUTPUT={output}", "-P", script)


def compiled(source: Path) -> subprocess.CompletedProcess:
    target = source.with_suffix(".o")
    return run(COMPILER, *FLAGS, f"-I{ROOT / 'src'}", "-c", source, "-o", target)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder with the Python package and a core that has the new algorithm."""
    if not all(file.exists() for file in BINDINGS):
        pytest.skip(f"this clone is not built: there is no {BINDINGS[0]}")
    home = tmp_path_factory.mktemp("added")
    shutil.copytree(ROOT / "src" / "algorithms", home / "algorithms")
    new = home / "algorithms" / "allgather" / "direct.cpp"
    new.write_text(listing(), encoding="utf-8")
    rows = home / "rows.cpp"
    done = list_rows(home / "algorithms", rows)
    assert done.returncode == 0, done.stderr
    for source in (new, rows):
        done = compiled(source)
        assert done.returncode == 0, done.stderr
        assert "warning" not in done.stderr, done.stderr
    package = home / "python" / "latecomer"
    ignored = shutil.ignore_patterns("*.so", "__pycache__")
    shutil.copytree(ROOT / "python" / "latecomer", package, ignore=ignored)
    core = package / f"_core{sysconfig.get_config_var('EXT_SUFFIX')}"
    objects = [*BINDINGS, new.with_suffix(".o"), rows.with_suffix(".o")]
    libraries = [BUILD / "liblatecomer_core.a", BUILD / "libnanobind-static.a"]
    done = run(COMPILER, "-shared", "-o", core, *objects, *libraries)
    assert done.returncode == 0, done.stderr
    return home


def python(home: Path, *arguments: str) -> str:
    environment = dict(os.environ, PYTHONPATH=str(home / "python"))
    done = run(sys.executable, *arguments, cwd=home, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def latecomer(home: Path, *arguments: str) -> str:
    return python(home, "-m", "latecomer", *arguments)


def test_the_listing_is_short():
    code = [line for line in listing().splitlines() if line and not line.startswith(("//", "#"))]
    assert len(code) <= 35


def test_it_is_listed(home):
    assert "folklore" in latecomer(home, "algorithms", "--collective", "allgather", "--json")


def test_it_is_right(home):
    assert "no counterexamples" in latecomer(home, "verify", "--algorithms", "direct")


PRICE = """
from latecomer.core import programs
for ranks in (2, 5, 8):
    for count in (ranks * 100, ranks * 100000):
        problem = programs.problem(ranks=ranks, count=count, collective="allgather")
        plan = programs.make_plan(problem, "direct", None, "alpha=50us,beta=8ns")
        print(plan.time() / max(plan.simulate()["exits"]))
"""


def test_its_price_is_what_the_virtual_network_says(home):
    for ratio in python(home, "-c", PRICE).split():
        assert abs(float(ratio) - 1) < 0.01


def test_it_is_simulated_beside_others(home):
    text = latecomer(home, "simulate", "--collective", "allgather", "--nodes", "8",
                     "--bytes", "64KiB", "--algorithms", "ring,direct")  # fmt: skip
    assert "direct" in text
    assert "ring" in text


def test_it_is_drawn(home):
    words = ["direct", "--collective", "allgather", "--ranks", "4", "--svg", "direct.svg"]
    assert "exits" in latecomer(home, "show", *words)
    assert "send" in latecomer(home, "show", *words[:-2])
    assert "<svg" in (home / "direct.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize("member", ["cost", "cost_formula", "source"])
def test_a_row_without_what_it_needs_does_not_compile(tmp_path, member):
    text, found = re.subn(rf"\.{member} = [^,}}]+,?", "", listing())
    assert found == 1
    source = tmp_path / "direct.cpp"
    source.write_text(text, encoding="utf-8")
    done = compiled(source)
    assert done.returncode != 0
    assert "missing" in done.stderr
    assert f"latecomer::Algorithm::{member}" in done.stderr


def test_two_rows_of_one_name_are_refused(tmp_path):
    for name in ("a.cpp", "b.cpp"):
        (tmp_path / name).write_text("LATECOMER_ROW(reduce, twin) {\n", encoding="utf-8")
    done = list_rows(tmp_path, tmp_path / "rows")
    assert done.returncode != 0
    assert "'twin' of reduce is declared twice" in " ".join(done.stderr.split())


def test_a_row_that_cannot_be_read_is_refused(tmp_path):
    (tmp_path / "a.cpp").write_text('  LATECOMER_ROW("reduce", Twin) {\n', encoding="utf-8")
    done = list_rows(tmp_path, tmp_path / "rows")
    assert done.returncode != 0
    assert "right would be LATECOMER_ROW(collective, name) {" in " ".join(done.stderr.split())


def test_a_file_that_comes_or_goes_changes_the_list(tmp_path):
    tree, build = tmp_path / "tree", tmp_path / "build"
    for part in ("cmake", "src", "include"):
        shutil.copytree(ROOT / part, tree / part)
    shutil.copy(ROOT / "CMakeLists.txt", tree)
    cmake = shutil.which("cmake") or Path(sys.executable).with_name("cmake")
    without = [f"-DLATECOMER_{part}=OFF" for part in ("TESTS", "PYTHON", "MPI", "SIMGRID")]
    done = run(cmake, "-G", "Ninja", "-S", tree, "-B", build, *without)
    assert done.returncode == 0, done.stderr
    new = tree / "src" / "algorithms" / "allgather" / "direct.cpp"

    def is_listed() -> bool:
        done = run(cmake, "--build", build, "--target", "rows.cpp")
        assert done.returncode == 0, done.stdout + done.stderr
        return "allgather::row_direct}" in (build / "rows.cpp").read_text()

    assert not is_listed()
    new.write_text(listing(), encoding="utf-8")
    assert is_listed()
    new.unlink()
    assert not is_listed()
