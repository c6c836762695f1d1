"""Options that verbs share: one name, one meaning, the same words in every --help."""

from collections import Counter

from latecomer.command.declare import parameters
from latecomer.verbs.commands import COMMANDS
from latecomer.verbs.options import COMMON, SHORT


def every():
    """The verb and the option of each one that --help shows."""
    return [(words, each) for words, verb in COMMANDS.verbs() for each in parameters(verb)
            if each.option.names and not each.option.hidden]  # fmt: skip


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
