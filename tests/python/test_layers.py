"""The layering check accepts this tree and rejects the committed broken one."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def run(tree: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "tools" / "check_layers.py"), str(tree)]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)


def test_this_tree_keeps_its_layers():
    result = run(ROOT)
    assert (result.returncode, result.stdout) == (0, "layers: ok\n")


def test_the_broken_tree_is_rejected_for_each_breach():
    result = run(ROOT / "tests" / "negative" / "layers")
    assert result.returncode == 1
    assert result.stdout.splitlines() == [
        'base/upward.hpp: includes "schedule/plan.hpp"',
        "lost/folder.hpp: belongs to no layer; add its folder to the table",
        "transports/mpi/unprofiled.hpp: calls MPI_Send",
        'examples/inner.hpp: includes "engine/engine.hpp"',
        'python/bindings.cpp: includes "engine/engine.hpp"',
        "src: files include each other: transports/mpi/first, transports/mpi/second",
        "schedule: may use base, and does not",
        "python/latecomer/base/proof.py: imports evidence, which is no part of the product",
        "python/latecomer/base/upward.py: imports core.first",
        "python/latecomer/lost/module.py: belongs to no layer; add its package to the table",
        "python/latecomer/core: may use base, and does not",
        "python/latecomer/report: may use base, and does not",
        "python/latecomer: packages import each other: report, sweep",
        "python/latecomer: modules import each other: core.first, core.second",
    ]


def test_a_document_without_the_table_is_refused(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "architecture.md").write_text("# Architecture\n")
    result = run(tmp_path)
    assert result.returncode == 2
    assert "no table of layers" in result.stderr
    assert run(tmp_path / "none").returncode == 2
