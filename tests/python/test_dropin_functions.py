"""The table of the functions that the drop-in library intercepts, and its wrappers."""

import re
import subprocess
import sys

import pytest
from latecomer.launch import program
from scenes_helpers import ROOT

WRITER = ROOT / "tools" / "dropin_functions.py"
TABLE = ROOT / "src" / "dropin" / "functions.txt"


def written(table, folder):
    words = [sys.executable, WRITER, table, folder]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def test_each_function_has_one_wrapper_for_each_form(tmp_path):
    done = written(TABLE, tmp_path / "new" / "folder")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    wrappers = (tmp_path / "new" / "folder" / "wrappers.cpp").read_text()
    lines = [line.split("|") for line in TABLE.read_text().splitlines() if re.match("[A-Z]", line)]
    names = [(name.strip(), forms.split()) for name, _, forms in lines]
    for name, forms in [each for each in names if "begun" in each[1]]:
        names += [(f"I{name[0].lower()}{name[1:]}", forms), (f"{name}_init", forms)]
    expected = [f"MPI_{name}{end}" for name, forms in names
                for form, end in (("c", ""), ("large", "_c")) if form in forms]  # fmt: skip
    made = re.findall(r"LATECOMER_WRAPPER int (\w+)\(", wrappers)
    assert sorted(made) == sorted(expected)
    assert len(set(made)) == len(made) > 200
    stubs = [(tmp_path / "new" / "folder" / name).read_text()
             for name in ("stubs.inc", "stubs_messages.inc")]  # fmt: skip
    plain, whole = (set(re.findall(r"^(?:STUB|LARGE|SHORT)\((\w+),", text, re.M)) for text in stubs)
    assert whole == set(expected)
    assert plain < whole
    assert {"MPI_Allreduce", "MPI_Ibcast", "MPI_Neighbor_alltoall"} <= plain
    assert not {"MPI_Send", "MPI_Win_fence", "MPI_Wait"} & plain
    # The loader tells Fortran's by their letters.
    fortran = re.findall(r"^FORTRAN\((\w+),", stubs[1], re.M)
    assert fortran
    assert all(name[0] == "m" or name[5].isupper() for name in fortran)
    assert all(name[0] == "M" and name[5].islower() for name in whole)
    lists = (tmp_path / "new" / "folder" / "argument_lists.h").read_text().splitlines()
    assert {"#define TYPES0 void", "#define MORE2 , long a, long b", "#define WORDS3 a, b, c",
            "#define AND1 , a"} <= set(lists)  # fmt: skip
    most = max(
        int(words) for text in stubs for words in re.findall(r"^\w+\(\w+, (\d+)", text, re.M)
    )
    assert f"#define TYPES{most} long a, " in "\n".join(lists)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("Odd", "'Odd' is not usable; right would be NAME | parameters | forms"),
        ("Odd | comm comm", "right would be NAME | parameters | forms"),
        ("Odd | com comm | c", "parameter 'com comm' of Odd is not usable; right would be a name "),
        ("Odd | comm | c", "parameter 'comm' of Odd is not usable"),
        ("Odd | comm comm | c wrong", "forms 'c wrong' of Odd are not usable; right would be some"),
        ("Odd | comm comm | c short watched", "forms 'c short watched' of Odd are not usable"),
        ("Odd | comm comm | c watched timed", "forms 'c watched timed' of Odd are not usable"),
    ],
)
def test_a_wrong_line_is_named(line, said, tmp_path):
    (tmp_path / "table").write_text(f"Barrier | comm comm | c\n{line}\n")
    done = written(tmp_path / "table", tmp_path / "out")
    assert done.returncode == 1
    assert done.stderr.startswith(f"{tmp_path / 'table'}: ")
    assert said in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_table_that_is_not_there_and_wrong_words(tmp_path):
    done = written(tmp_path / "none", tmp_path)
    assert done.returncode == 1
    assert "none" in done.stderr
    usage = subprocess.run([sys.executable, WRITER], capture_output=True, text=True, check=False)
    assert (usage.returncode, usage.stderr) == (1, "usage: dropin_functions.py TABLE FOLDER\n")


@pytest.mark.parametrize("family", ["openmpi", "mpich", "abi"])
def test_a_library_to_preload_names_no_mpi_library(family):
    """The program has one, whose name may differ: Debian's MPICH is libmpich.so.12."""
    library = program.find_built(f"liblatecomer_preload_{family}.so")
    if library is None:
        pytest.skip(f"the drop-in library is not built for {family}")
    words = ["readelf", "-d", "-W", library]
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", said)
    assert "libc.so.6" in needed
    assert not [name for name in needed if "mpi" in name]
