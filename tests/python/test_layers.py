"""The layering check accepts this tree and rejects the committed broken one."""

from checks_helpers import ROOT, checked


def test_this_tree_keeps_its_layers():
    result = checked("layers", ROOT)
    assert (result.returncode, result.stdout) == (0, "layers: ok\n")


def test_the_broken_tree_is_rejected_for_each_breach():
    result = checked("layers", ROOT / "tests" / "negative" / "layers")
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
    result = checked("layers", tmp_path)
    assert result.returncode == 2
    assert "no table of layers" in result.stderr
    assert checked("layers", tmp_path / "none").returncode == 2
