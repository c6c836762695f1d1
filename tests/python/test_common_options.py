"""Options that verbs share: one name, one meaning, the same words in --help and on the page."""

from collections import Counter

from latecomer.verbs.options import COMMON, SHORT
from tools import document_options


def every():
    return [(verb, each) for verb, some in document_options.verbs() for each in some]


def test_the_page_has_the_words_of_the_help():
    page = document_options.PAGE.read_text(encoding="utf-8")
    assert document_options.page(page) == page, "run .venv/bin/python tools/document_options.py"


def test_the_help_of_each_verb_begins_with_the_common_words():
    for verb, each in every():
        words = COMMON.get(each.name, "")
        assert each.option.help.startswith(words), (verb, each.name)
        assert each.option.names[1:] == tuple(filter(None, [SHORT.get(each.name)])), verb


def test_options_of_many_verbs_are_in_the_table():
    counts = Counter(each.name for _, each in every())
    groups = Counter((each.name, each.option.help) for _, each in every())
    for name, number in counts.items():
        declared_once = max(n for (other, _), n in groups.items() if other == name) == number
        assert name in COMMON or declared_once or number < 4, name
    assert set(COMMON) <= set(counts)
