"""Documents that are made from the code, or speak of it, agree with it."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from latecomer.cli import run

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "evidence")]

# Words, as `wc -w` counts them.
MAX_RECORD = 350  # a decision record: it fits on a screen
MAX_PAGES = 42_000  # all pages below docs/, records included


def test_the_algorithms_page_is_current():
    import document_algorithms

    committed = (ROOT / "docs" / "algorithms.md").read_text(encoding="utf-8")
    assert committed == document_algorithms.page()


def test_the_readme_is_a_screen():
    """What a newcomer reads at once; the rest is in docs/."""
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 80


def words_of(page: Path) -> int:
    return len(page.read_text(encoding="utf-8").split())


def test_a_decision_record_fits_on_a_screen():
    records = (ROOT / "docs" / "decisions").glob("*.md")
    assert [each.name for each in records if words_of(each) > MAX_RECORD] == []


def test_the_pages_stay_short():
    """Who adds a page shortens another: long tables belong into evidence/results/."""
    assert sum(map(words_of, (ROOT / "docs").rglob("*.md"))) <= MAX_PAGES


def test_results_have_the_command_that_made_them():
    command = re.compile(r"evidence/\w+\.py|\./latecomer \w+|build/release/\w+")
    for each in (ROOT / "evidence" / "results").glob("*.md"):
        assert command.search(each.read_text(encoding="utf-8")), each.name


def test_the_report_on_the_page_of_pytorch_is_current(tmp_path, monkeypatch, capsys):
    page = (ROOT / "docs" / "howto" / "pytorch.md").read_text(encoding="utf-8")
    shown = re.search(r"```text\n(who:.*?)```", page, re.DOTALL)
    monkeypatch.chdir(ROOT)
    words = ["report", "tests/python/kineto", "--html", str(tmp_path / "a.html"), "--budget", "0"]
    assert run(words) == 0
    assert capsys.readouterr().out.split() == shown[1].split()


def test_the_reproduction_page_is_current():
    """Only the papers that take no time; `evidence/document_reproduction.py` writes all."""
    import document_reproduction

    committed = document_reproduction.RESULTS.read_text(encoding="utf-8")
    assert committed.startswith(document_reproduction.HEAD)
    for name in ("marendic2012", "kolmakov2020"):
        assert document_reproduction.section(name) in committed, name


@pytest.mark.parametrize(
    ("paper", "numbers", "claim"),
    [
        ("proficz2018", r"(SLT|PRR), elapsed \(", "16 of 16"),
        ("proficz2021", r"BDR, elapsed speedup", "97 of 121"),
        ("proficz2021", r"BSLB, elapsed speedup", "4 of 70"),
        ("marendic2012", r"LocalReduce, root exit \(", "1 of 5"),
        ("kolmakov2020", r"Re-derived forms, ", "55 of 60"),
        ("traeff2021", r"Doubly pipelined, run \(", "12 of 29"),
    ],
)
def test_the_summary_of_the_reproduction_page_adds_up(paper, numbers, claim):
    import document_reproduction

    page = (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8")
    details = document_reproduction.RESULTS.read_text(encoding="utf-8")
    rest = details.partition(f"\n## {paper}\n")[2]
    points = re.sub(r"\n  +", " ", rest.partition("\n## ")[0]).splitlines()
    found = [re.search(r"(\d+) of (\d+) within", p) for p in points if re.search(numbers, p)]
    close, known = (sum(int(each[i]) for each in found if each) for i in (1, 2))
    assert claim == f"{close} of {known}"
    row = next(line for line in page.splitlines() if line.startswith(f"| [{paper}]"))
    assert claim in row


@pytest.mark.parametrize(
    ("name", "compiler", "language"),
    [
        ("latecomer.h", "cc", "c"),
        ("latecomer_mpi.h", "mpicc", "c"),
        ("latecomer_mpi.h", "mpicxx", "c++"),
    ],
)
def test_the_example_of_a_header_compiles(tmp_path, name, compiler, language):
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler} on this machine")
    header = (ROOT / "include" / "latecomer" / name).read_text(encoding="utf-8")
    lines = header.partition("*/")[0].splitlines()
    code = [line.removeprefix(" *     ") for line in lines if line.startswith(" *     ")]
    example = tmp_path / "example.c"
    example.write_text("\n".join([*code, ""]), encoding="utf-8")
    flags = ["-Wall", "-Wextra", "-Werror", "-DOMPI_SKIP_MPICXX", f"-I{ROOT / 'include'}"]
    command = [compiler, *flags, "-x", language, "-c", example, "-o", tmp_path / "example.o"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "int main" in example.read_text(encoding="utf-8")
    assert done.returncode == 0, done.stderr


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


# A page tells the reader to write these.
NEW = {"src/algorithms/allgather/direct.cpp"}
TOPS = ("bench", "cmake", "docs", "examples", "include", "python", "src", "tests", "tools")
FILE = re.compile(r"[\w.-]+(/[\w.-]+)+\.(cpp|hpp|h|c|py|md|cmake|toml|txt|sh|json|svg)")
FOLDER = re.compile(rf"({'|'.join(TOPS)})(/[\w.-]+)*/?")


def missing_paths(page: Path, text: str) -> list[str]:
    """The paths in backticks that lead nowhere: from the root, src, the package or the page."""
    bases = (ROOT, ROOT / "src", ROOT / "src" / "algorithms", ROOT / "python" / "latecomer",
             page.parent)  # fmt: skip
    named = [name for name in re.findall(r"`([^`\s]+)`", text)
             if not re.search(r"/[A-Z]+/", name)  # stands for any
             if FILE.fullmatch(name) or (FOLDER.fullmatch(name) and "/" in name)]  # fmt: skip
    return [name for name in named
            if name not in NEW and not any((base / name).exists() for base in bases)]  # fmt: skip


def test_paths_in_documents_exist():
    pages = [ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
    for page in pages:
        assert missing_paths(page, page.read_text(encoding="utf-8")) == [], page.name


def test_a_path_that_leads_nowhere_is_found():
    text = "see `runtime/knowledge.hpp`, `src/nowhere/`, `src/base/error.hpp`, `alpha/beta` and `a b/c.py`"
    assert missing_paths(ROOT / "docs" / "a.md", text) == ["runtime/knowledge.hpp", "src/nowhere/"]
