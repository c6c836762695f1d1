"""The documentation site builds without warnings, loads nothing from elsewhere, and is complete."""

import os
import re
import subprocess

import pytest
from documents_helpers import ROOT

pytest.importorskip("material", reason="requirements-docs.txt is not installed")

# In Material's bundle, for browsers without it and for diagrams, which no page has.
UNUSED = ("https://unpkg.com/resize-observer-polyfill", "https://unpkg.com/mermaid@11")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [ROOT / "tools" / "site.sh", "--site-dir", folder]
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=600, check=False, env=env
    )
    said = f"the first page: {folder}/index.html\n"
    assert (done.returncode, done.stdout + done.stderr) == (0, said)
    assert (folder / "index.html").is_file()
    return folder


def test_every_document_is_a_page(site):
    for path in (ROOT / "docs").rglob("*.md"):
        page = (site / path.relative_to(ROOT / "docs")).with_suffix(".html")
        assert page.is_file(), path


def test_the_reference_has_all_verbs_functions_and_names(site):
    import latecomer
    from latecomer.cli import COMMANDS

    command = (site / "reference" / "command.html").read_text(encoding="utf-8")
    for name in COMMANDS.commands:
        assert f"latecomer {name}" in command, name
    python = (site / "reference" / "python.html").read_text(encoding="utf-8")
    for name in latecomer.__all__:
        assert name.startswith("__") or f"<code>{name}</code>" in python, name
    for header in (ROOT / "include" / "latecomer").glob("*.h"):
        page = (site / "reference" / f"{header.name}.html").read_text(encoding="utf-8")
        functions = re.findall(r"LATECOMER_API [\w* ]*?(latecomer_\w+)\(", header.read_text())
        assert len(functions) > 5
        for name in functions:
            assert f"<code>{name}</code>" in page, name


def test_nothing_is_loaded_from_elsewhere(site):
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert re.findall(r"<(?:script|img|iframe)[^>]+src=[\"']?(?:https?:)?//", text) == [], page
        styles = re.findall(r"<link[^>]+href=[\"']?(?:https?:)?//[^>]*", text)
        assert [each for each in styles if "canonical" not in each] == [], page
    for script in site.rglob("*.js"):
        text = script.read_text(encoding="utf-8")
        found = re.findall(r"https://(?:unpkg|cdn|fonts)\.[^\"' ]+", text)
        assert [url for url in found if not url.startswith(UNUSED)] == [], script


def test_long_lines_of_blocks_show_that_they_go_on(site):
    """By a bar that is there without a pointer over it, and a shadow that moves with the text."""
    style = (site / "assets" / "site.css").read_text(encoding="utf-8")
    (rule,) = re.findall(r"^\.md-typeset pre > code \{(.*?)\}", style, re.MULTILINE | re.DOTALL)
    assert "scrollbar-color: auto;" in rule  # else browsers do not use the bar's own style
    assert re.search(r"local right .*?scroll right ", rule, re.DOTALL)
    bar = re.search(r"pre > code::-webkit-scrollbar \{ height: \.(\d+)rem", style)
    assert int(bar[1]) > 20  # of a hundred: the theme's has 20


def test_the_tables_of_variables_agree():
    """Every variable that the code reads, or another page describes, is in docs/variables.md."""
    table = (ROOT / "docs" / "variables.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `([A-Z_]+)` \|", table, re.MULTILINE)
    assert listed == sorted(listed)
    sources = [*(ROOT / "src").rglob("*.cpp"), *(ROOT / "python" / "latecomer").rglob("*.py")]
    read = {name for path in sources
            for name in re.findall(r'"(LATECOMER(?:_[A-Z]+)*)[="]', path.read_text())}  # fmt: skip
    inside = {"LATECOMER_LAB"}  # of the lab, for the programs in it
    assert read - inside <= set(listed)
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    said = {
        name
        for page in pages
        for name in re.findall(r"`(LATECOMER_[A-Z_]+)\b(?!\*)", page.read_text())
    }
    built = {"LATECOMER_BATCHES", "LATECOMER_TESTS", "LATECOMER_PYTHON", "LATECOMER_MPI_FAMILIES"}
    assert said - built - inside <= set(listed)
