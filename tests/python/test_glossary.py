"""The glossary is short, sorted, and about words that are in use."""

import re
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GLOSSARY = ROOT / "docs" / "glossary.md"
MAX_ROWS = 40


def rows(text: str) -> list[str]:
    """The first cells of the table's rows, without the head."""
    body = text.partition("| --- | --- |\n")[2]
    return re.findall(r"^\| (.*?) \|", body, re.MULTILINE)


def words_of(cell: str) -> list[str]:
    """The words of a first cell: "alpha, beta" are two, "imbalance (omega)" is one."""
    return re.sub(r" \(.*\)", "", cell).split(", ")


def used_text() -> str:
    """All documents and sources but the glossary, on one line without comment marks."""
    folders = [("docs", "*.md"), ("src", "*.?pp"), ("include", "*.h"), ("python", "*.py")]
    files = [path for folder, name in folders for path in (ROOT / folder).rglob(name)]
    texts = [path.read_text(encoding="utf-8") for path in files if path != GLOSSARY]
    return re.sub(r"\s+(///? )?", " ", "\n".join(texts)).lower()


def faults(text: str, used: str) -> list[str]:
    cells = rows(text)
    found = [f"{len(cells)} rows"] if len(cells) > MAX_ROWS else []
    found += [f"'{b}' after '{a}'" for a, b in pairwise(cells) if a.lower() > b.lower()]
    found += [f"'{word}' is not used" for cell in cells for word in words_of(cell)
              if not re.search(rf"\b{re.escape(word.lower())}", used)]  # fmt: skip
    return found


def test_the_glossary_is_short_sorted_and_used():
    assert faults(GLOSSARY.read_text(encoding="utf-8"), used_text()) == []


def test_faults_of_a_glossary_are_found():
    cells = [*(f"alpha, unheard{i:02}" for i in range(41)), "a"]
    lines = "".join(f"| {each} | x |\n" for each in cells)
    found = faults(f"| word | meaning |\n| --- | --- |\n{lines}", "alpha a")
    assert "42 rows" in found
    assert "'unheard00' is not used" in found
    assert "'a' after 'alpha, unheard40'" in found
    assert not any(fault.startswith("'alpha'") for fault in found)
