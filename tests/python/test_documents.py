"""Documents that are made from the code, or speak of it, agree with it."""

import re
import sys
from pathlib import Path

import latecomer

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "evidence")]


def test_the_algorithms_page_is_current():
    import document_algorithms

    committed = (ROOT / "docs" / "algorithms.md").read_text(encoding="utf-8")
    assert committed == document_algorithms.page()


def test_the_reproduction_page_is_current():
    """Only the papers that take no time; `evidence/document_reproduction.py` writes all."""
    import document_reproduction

    committed = (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8")
    assert committed.startswith(document_reproduction.HEAD)
    for name in ("marendic2012", "kolmakov2020"):
        assert document_reproduction.section(name) in committed, name


def test_every_verb_has_help_with_an_example(capsys):
    from latecomer.cli import run

    for verb in (
        "bench",
        "simulate",
        "calibrate",
        "lab run",
        "lab check",
        "lab shell",
        "verify",
        "show",
        "reproduce",
        "algorithms",
        "doctor",
    ):
        assert run([*verb.split(), "--help"]) == 0
        assert re.search(r"Example: +latecomer", capsys.readouterr().out), verb


def test_readme_names_every_algorithm():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [row.name for row in latecomer.algorithms() if f"`{row.name}`" not in readme] == []
