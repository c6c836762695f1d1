"""Options that verbs share: their names, those of earlier versions, ranks and nodes."""

from pathlib import Path

import pytest
from bench_helpers import run_verb
from latecomer.command.declare import parameters
from latecomer.verbs import options
from latecomer.verbs.commands import COMMANDS
from simulate_helpers import SMALL, refusal, rows_of, simulate

ROOT = Path(__file__).parents[2]


# ---- old words


def test_the_old_estimate_is_accepted_with_a_note(capsys):
    _, new, quiet = simulate(capsys, *SMALL, "--estimate", "reversed", "--format", "csv")
    code, old, err = simulate(capsys, *SMALL, "--estimate", "wrong", "--format", "csv")
    note = "latecomer: note: --estimate wrong is deprecated; use --estimate reversed"
    assert (code, old) == (0, new)
    assert note in err.splitlines()
    assert note not in quiet


def test_the_old_progress_is_accepted_with_a_note(capsys):
    code, _, err = simulate(capsys, *SMALL, "--progress", "declared")
    assert code == 0
    assert "note: --progress declared is deprecated; use --progress as-configured" in err


@pytest.mark.parametrize("old", ["--times", "--arrival"])
def test_the_old_times_of_show_are_accepted(old):
    new = run_verb("show", "ring", "--ranks", "2", "--arrivals", "1,0")
    found = run_verb("show", "ring", "--ranks", "2", old, "1,0")
    assert (found.exit_code, found.stdout, found.stderr) == (0, new.stdout, "")


OLD = [
    ("bench", "--arrival"), ("bench", "--report"), ("simulate", "--arrival"),
    ("simulate", "--report"), ("tune", "--arrival"), ("tune", "--collectives"),
    ("bench", "--imbalance"), ("run", "--report"), ("report", "--seconds"),
    ("verify", "--arrivals"), ("show", "--picture"), ("calibrate", "--seconds"),
    ("calibrate", "--network"), ("bench", "--network"), ("bench", "--nodes"),
]  # fmt: skip


@pytest.mark.parametrize(("verb", "name"), OLD)
def test_names_of_earlier_versions_are_still_read(verb, name):
    declared = parameters(COMMANDS.verb(verb))
    assert any(name in (*each.option.names, *each.option.old) for each in declared)
    assert (f" {name} " in run_verb(verb, "--help").stdout) == (name in ("--network", "--nodes")
                                                                and verb == "bench")  # fmt: skip


def test_scripts_use_no_names_of_earlier_versions():
    """Each word of a script that calls bench, and is an option of it, is one that the help shows."""
    declared = parameters(COMMANDS.verb("bench"))
    old = {name for each in declared for name in each.option.old if name != "--imbalance"}
    for file in [*ROOT.glob("tools/*.py"), *ROOT.glob("evidence/*.py")]:
        text = file.read_text(encoding="utf-8")
        if '"bench"' in text:
            assert not [name for name in old if f'"{name}"' in text], file


def test_names_that_verbs_share_are_in_the_table():
    """With one short name, and none of an earlier version in the help."""
    old = {name for names in options.OLD.values() for name in names}
    for words, verb in COMMANDS.verbs():
        for each in parameters(verb):
            if not each.option.names or each.option.hidden:
                continue
            name, *others = each.option.names
            assert name not in old, (words, name)
            assert others == ([options.SHORT[name]] if name in options.SHORT else [])
            assert set(options.OLD.get(name, ())) <= set(each.option.old)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["bench", "-n", "4", "--nodes", "2"], "--ranks: 4; leave it out, or --nodes 2."),
        (["bench", "-n", "5", "--per-node", "2"], "--ranks: 5; give a multiple of --per-node 2."),
        (["simulate", "-n", "4,5", "--per-node", "2"], "--ranks: 5; give a multiple of"),
        (["simulate", "-n", "4-8", "--nodes", "4"], "--ranks: 4-8; leave it out, or --nodes 4."),
        (["simulate", "-n", "many"], "--ranks is no number of ranks: 'many'; use 1 to 4096"),
    ],
)
def test_ranks_that_do_not_go_with_nodes_are_refused(words, complaint):
    found = run_verb(*words)
    assert (found.exit_code, found.stdout) == (2, "")
    assert complaint in found.stderr


def test_ranks_are_asked_for_by_their_number(capsys):
    small = [word for word in SMALL if word not in ("--nodes", SMALL[SMALL.index("--nodes") + 1])]
    by_ranks = rows_of(capsys, *small, "-n", "4,6", "--per-node", "2")
    assert by_ranks == rows_of(capsys, *small, "--nodes", "2,3", "--per-node", "2")


@pytest.mark.parametrize("name", ["bench", "calibrate"])
def test_the_old_name_of_a_place_is_accepted_with_a_note(name):
    found = run_verb(name, "--network", "local", "--rate", "1gbit")
    note, error = found.stderr.splitlines()
    assert note == "latecomer: note: --network local is deprecated; use --place local"
    assert "--rate with --place local: 1gbit" in error


# ---- nodes


def test_ranks_are_nodes_times_per_node(capsys):
    rows = rows_of(capsys, *SMALL, "--nodes", "2,3", "--per-node", "2")
    assert [row["ranks"] for row in rows[::2]] == ["4", "6"]
    assert all("per_node=2" in row["network"] for row in rows)
    flat = rows_of(capsys, *SMALL, "--nodes", "4", "--per-node", "1")
    assert flat == rows_of(capsys, *SMALL, "--nodes", "4")
    assert flat[0]["elapsed_ms"] != rows[0]["elapsed_ms"]


def test_nodes_count_ranks_where_only_the_network_knows_them(capsys):
    words = [*SMALL, "--network", "per_node=2", "--nodes", "4"]
    code, out, err = simulate(capsys, *words, "--format", "csv")
    assert code == 0
    assert "note: the network has per_node=2, with which --nodes 4 counts ranks" in err
    said = rows_of(capsys, *SMALL, "--nodes", "2", "--per-node", "2")
    assert out.splitlines()[1].split(",")[3] == said[0]["ranks"] == "4"
    assert rows_of(capsys, *words, "--per-node", "2")[0]["ranks"] == "8"


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--per-node", "0"], "Invalid value for --per-node: 0; give a number from 1 to 4096"),
        (["--per-node", "2", "--network", "per_node=3"],
         "--per-node 2 with per_node in --network: 3; leave one of them out"),
        (["--per-node", "2", "--nodes", "2049"], "--nodes out of range: 2049; use 1 to 2048"),
    ],
)  # fmt: skip
def test_nodes_that_make_no_sense_are_refused(capsys, words, complaint):
    assert complaint in refusal(capsys, *words)
