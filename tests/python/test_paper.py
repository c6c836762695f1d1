"""The paper: each of its figures is on the page that its paragraph names, each reference is there."""

import re

import pytest
from scenes_helpers import ROOT

PAPER = (ROOT / "paper" / "paper.md").read_text(encoding="utf-8")
BODY = PAPER.split("\n---\n", 1)[1]
BIB = (ROOT / "paper" / "paper.bib").read_text(encoding="utf-8")


def paragraphs():
    return [part for part in BODY.split("\n\n") if re.search(r"`docs/[\w-]+\.md`", part)]


@pytest.mark.parametrize("text", paragraphs())
def test_figures_are_on_the_page_that_is_named(text):
    pages = re.findall(r"`(docs/[\w-]+\.md)`", text)
    known = " ".join((ROOT / page).read_text(encoding="utf-8") for page in pages)
    plain = re.sub(r"`[^`]*`|@\w+|\b[a-z]\w*\d\w*", "", text)
    for figure in re.findall(r"\d[\d.,]*\d|\d", plain):
        assert re.search(rf"(?<![\d.]){re.escape(figure)}(?![\d])", known), (figure, pages)


def test_figures_have_a_source():
    for part in BODY.split("\n\n"):
        if part not in paragraphs():
            plain = re.sub(r"`[^`]*`|@\w+|\b[a-z]\w*\d\w*", "", part)
            assert not re.search(r"\d", plain), part


def test_references_are_there_and_used():
    cited = set(re.findall(r"@(\w+)", BODY))
    assert cited == set(re.findall(r"^@\w+\{(\w+),", BIB, re.MULTILINE))


def test_it_has_the_length_and_the_parts_of_a_joss_paper():
    assert 750 <= len(BODY.split()) <= 1750
    for part in ("Summary", "Statement of need", "State of the field", "References"):
        assert f"\n# {part}\n" in BODY
    for key in ("title", "tags", "authors", "affiliations", "date", "bibliography"):
        assert re.search(rf"^{key}:", PAPER, re.MULTILINE), key
