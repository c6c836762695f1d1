"""The glossary is short, sorted, and about words that are in use."""

import re
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GLOSSARY = ROOT / "docs" / "glossary.md"
MAX_ROWS = 40


def tables(text: str) -> list[list[str]]:
    """The first cells of each table's rows, without the head."""
    bodies = re.findall(r"^\| --- \|.*\n((?:\|.*\n?)*)", text, re.MULTILINE)
    return [re.findall(r"^\| (.*?) \|", body, re.MULTILINE) for body in bodies]


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
    words, names = tables(text)
    rows = len(words) + len(names)
    found = [f"{rows} rows"] if rows > MAX_ROWS else []
    for cells in (words, names):
        found += [f"'{b}' after '{a}'" for a, b in pairwise(cells) if a.lower() > b.lower()]
        found += [f"'{word}' is not used" for cell in cells for word in words_of(cell)
                  if not re.search(rf"\b{re.escape(word.lower())}", used)]  # fmt: skip
    return found


def test_the_glossary_is_short_sorted_and_used():
    assert faults(GLOSSARY.read_text(encoding="utf-8"), used_text()) == []


def test_faults_of_a_glossary_are_found():
    rows = "".join(f"| alpha, unheard{i:02} | x |\n" for i in range(41))
    page = f"| word | meaning |\n| --- | --- |\n{rows}\n| name | here |\n| --- | --- |\n| b | x |\n| a | x |\n"
    found = faults(page, "alpha a b")
    assert "43 rows" in found
    assert "'unheard00' is not used" in found
    assert "'a' after 'b'" in found
    assert not any("'alpha'" in fault for fault in found)
