"""What the command advises: without a clone a user has none of its files."""

import ast
import os
import re
import shutil
import subprocess
import sys

import pytest
from documents_helpers import ROOT

PACKAGE = ROOT / "python" / "latecomer"
FILES = re.compile(r"(?<![\w./-])(\./(demo|test|tools)|(tools|tests|evidence|packaging|\.venv)/)")
# Nothing is built or installed here.
SCRIPT = """
import sys
sys.modules["latecomer._core"] = None
from latecomer.cli import run
from latecomer.launch import mpi, preload, program
mpi.families = list
run(["doctor"])
run(["algorithms"])
run(["where"])
for missing in (preload.library, lambda: program.of_family("mpich")):
    try:
        missing()
    except mpi.LaunchError as error:
        print(error)
"""


def said(package, clone):
    """All of the advice that the package gives in a folder that is a clone, or none."""
    if clone:
        (package / "demo").touch()
    else:
        (package / "demo").unlink(missing_ok=True)
    env = {
        **os.environ,
        "PYTHONPATH": str(package / "python"),
        "PATH": "",
        "LATECOMER_PROGRAMS": "",
    }
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=env, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=True)  # fmt: skip
    return done.stdout


def test_advice_fits_the_installation(tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "python" / "latecomer",
                    ignore=shutil.ignore_patterns("*.so", "__pycache__"))  # fmt: skip
    inside, outside = said(tmp_path, clone=True), said(tmp_path, clone=False)
    assert not FILES.search(outside), outside
    # The same advice in both, in the words of each.
    times = inside.count("run ./demo or ./test at the root of the clone")
    assert times >= 8, inside
    again = "run `pip install .` in a clone of the repository"
    assert outside.count(again) == inside.count(again) + times


def texts(path):
    """The strings in a file of Python."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("build it with ./demo", True),
        ("see evidence/atlas", True),
        (".venv/bin/pip install", True),
        ("/opt/.venv/bin/python -m pip", False),
        ("latecomer atlas show cg.parquet", False),
    ],
)
def test_a_file_of_the_clone_is_known(text, named):
    assert bool(FILES.search(text)) is named


def test_one_place_names_files_of_the_clone():
    """Other texts may name them if they say that it takes a clone."""
    found = [
        (path.name, text)
        for path in sorted(PACKAGE.rglob("*.py"))
        for text in texts(path)
        if FILES.search(text) and "a clone" not in text
    ]
    assert [name for name, _ in found] == ["clone.py"], found
