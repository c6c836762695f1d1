"""The C interface against the last release's: what breaks old programs is found."""

import shutil
import subprocess
import sys

import pytest
from packaging_helpers import load
from scenes_helpers import ROOT

pytestmark = pytest.mark.skipif(
    not (shutil.which("abidw") and shutil.which("cc")), reason="no abigail-tools, or no compiler"
)
abi = load("abi")


def test_old_programs_work_with_this_interface():
    if not (abi.LIBRARIES / "liblatecomer_core.so").exists():
        pytest.skip("no release build")
    ended = subprocess.run([sys.executable, str(ROOT / "packaging" / "abi.py"), "check"],
                           capture_output=True, text=True, check=False)  # fmt: skip
    assert ended.returncode == 0, ended.stdout + ended.stderr


def changed(monkeypatch, tmp_path, header, old, new):
    """Return abidiff's words about headers in which a text is another one."""
    headers = tmp_path / "include" / "latecomer"
    shutil.copytree(abi.HEADERS, headers)
    text = (headers / header).read_text(encoding="utf-8")
    assert old in text
    (headers / header).write_text(text.replace(old, new), encoding="utf-8")
    monkeypatch.setattr(abi, "HEADERS", headers)
    return abi.check(abi.probe(tmp_path))


ON = "int latecomer_set_reproducible(MPI_Comm comm, int on);"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("uint64_t handled;", "uint64_t more; uint64_t handled;", "latecomer_stats"),
        ("uint64_t handled;", "int handled;", "latecomer_stats"),
        (ON, ON.replace("int on", "long on"), "set_reproducible"),
        (ON, ON.replace(", int on", ""), "set_reproducible"),
        (f"LATECOMER_API {ON}", "", "set_reproducible"),
    ],
)
def test_what_breaks_old_programs_is_said(monkeypatch, tmp_path, old, new, said):
    assert said in changed(monkeypatch, tmp_path, "latecomer_mpi.h", old, new)


def test_a_new_function_breaks_nothing(monkeypatch, tmp_path):
    new = f"LATECOMER_API int latecomer_more(void);\nLATECOMER_API {ON}"
    assert changed(monkeypatch, tmp_path, "latecomer_mpi.h", f"LATECOMER_API {ON}", new) == ""


def test_symbols_without_a_declaration_are_named(monkeypatch):
    if not (abi.LIBRARIES / "liblatecomer_core.so").exists():
        pytest.skip("no release build")
    assert not abi.strangers()
    of = abi.functions
    monkeypatch.setattr(abi, "functions", lambda header: of(header)[1:])
    assert any("liblatecomer_core.so: latecomer_" in each for each in abi.strangers())
