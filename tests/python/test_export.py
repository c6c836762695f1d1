"""Rules as tuning files: what they say, what they cannot, and that the MPI libraries obey them."""

import itertools
import json
import math
import random
import re
import sys

import pytest
from dropin_helpers import launcher_of, run_command
from latecomer import cli
from latecomer.lab import rules as rulefile
from latecomer.lab.export import counterparts, forms, taken
from latecomer.lab.rules import RuleError
from mpi_helpers import FAMILIES, installed
from scenes_helpers import ROOT

TOP = {"rule_file_version": 1, "module": "latecomer"}
JOB = ROOT / "tests" / "python" / "jobs" / "native_bits.py"
TEXT, JSON_, CSEL = "openmpi-4", "openmpi-6", "mpich-csel"


def file_of(tmp_path, collectives, **more):
    path = tmp_path / "rules.json"
    path.write_text(json.dumps({**TOP, **more, "collectives": collectives}))
    return rulefile.read(path)


def rule(alg, low=None, high=None, **more):
    limits = {"msg_size_min": low, "msg_size_max": high}
    return {
        "alg": alg,
        **{name: value for name, value in limits.items() if value is not None},
        **more,
    }


# A table as MPICH has it, of the collectives that rules are for.
OWN = {"comm_size<8": {"algorithm=own_few": {}}, "comm_size=any": {"algorithm=MPIR_own": {}}}
BASE = {
    f"collective={name}": {"comm_type=intra": OWN, "comm_type=inter": {"algorithm=inter": {}}}
    for name in counterparts.MPICH
}


@pytest.fixture
def base(tmp_path):
    path = tmp_path / "libmpi.so.12"
    path.write_bytes(b'\x7fELF\0{"collective=x\0' + json.dumps(BASE).encode() + b"\0rest")
    return path


# ---- readers of the forms, as their libraries read them


def by_text(text, collective, ranks, size):
    """The algorithm's number by Open MPI 4.1: the nearest smaller sizes; the first for smaller."""
    numbers = iter(int(each) for each in re.sub(r"#.*", "", text).split())
    found = {}
    for _ in range(next(numbers)):
        name, tables = next(numbers), []
        for _ in range(next(numbers)):
            least, rows = next(numbers), next(numbers)
            tables.append((least, [tuple(itertools.islice(numbers, 4)) for _ in range(rows)]))
        found[name] = tables
    assert next(numbers, None) is None
    tables = found.get(counterparts.NUMBERS[collective])
    if not tables:
        return 0
    chosen = [rows for least, rows in tables if least <= ranks] or [tables[0][1]]
    assert chosen[-1][0][0] == 0  # as it wants
    return [row for row in chosen[-1] if row[0] <= size][-1][1]


def by_rules(text, collective, ranks, size):
    """The algorithm's name by Open MPI 6: the first match."""
    for entry in json.loads(text)["collectives"].get(collective, []):
        if entry.get("comm_size_min", 0) <= ranks <= entry.get("comm_size_max", math.inf):
            for each in entry["rules"]:
                if each.get("msg_size_min", 0) <= size <= each.get("msg_size_max", math.inf):
                    return each["alg"]
            return "ignore"
    return "ignore"


def by_csel(tree, facts):
    """The algorithm by MPICH: the first branch that holds, and its branches."""
    for key, inner in tree.items():
        if key.startswith("algorithm="):
            return key.partition("=")[2]
        name, sign, value = re.fullmatch(r"(\w+)(<=|<|=)(\w+)", key).groups()
        fact = facts[name]
        if name == "comm_size" and value == "pow2":
            holds = fact & (fact - 1) == 0
        elif name == "count" and value == "pow2":
            holds = fact < 1 << (facts["comm_size"].bit_length() - 1)
        elif sign == "=":
            holds = value in ("any", fact)
        else:
            holds = fact < int(value) + (sign == "<=")
        if holds:
            return by_csel(inner, facts)
    raise AssertionError("no branch holds, at which MPICH would end")


def slow(entries, ranks, size, imbalance, late, table):
    """The counterpart by the rules of docs/rules.md; None: the library's choice."""
    for entry in entries:
        if not entry.get("comm_size_min", 0) <= ranks <= entry.get("comm_size_max", math.inf):
            continue
        for each in entry["rules"]:
            if (
                each.get("msg_size_min", 0) <= size <= each.get("msg_size_max", math.inf)
                and each.get("imbalance_min", 0) <= imbalance <= each.get("imbalance_max", math.inf)
                and each.get("late_ranks_min", 0) <= late <= each.get("late_ranks_max", math.inf)
            ):
                return table.get(each["alg"])
        return None
    return None


def test_all_forms_say_what_the_rules_say(tmp_path, base):
    seed = random.randrange(1 << 30)
    print("seed", seed)
    draw = random.Random(seed)
    names = ["ring", "recursive_doubling", "rabenseifner", "native", "sorted_linear_tree", "auto"]

    def limits(name, values):
        low, high = sorted(draw.choices(values, k=2))
        chosen = {f"{name}_min": low, f"{name}_max": high}
        return {key: value for key, value in chosen.items() if draw.random() < 0.7}

    ranks, sizes, imbalances = [1, 2, 3, 7, 8, 9, 16], [0, 1, 8, 100, 101, 4096], [0, 0.5, 1, 4]
    for _ in range(60):
        entries = [
            {
                **limits("comm_size", ranks),
                "rules": [
                    {
                        **limits("msg_size", sizes),
                        **limits("imbalance", imbalances),
                        **limits("late_ranks", [0, 1, 2]),
                        "alg": draw.choice(names),
                    }
                    for _ in range(draw.randint(0, 4))
                ],
            }
            for _ in range(draw.randint(1, 3))
        ]
        file, imbalance = file_of(tmp_path, {"allreduce": entries}), draw.choice(imbalances)
        try:
            texts = {
                name: forms.export(file, form, imbalance, 2, base)[0]
                for name, form in forms.FORMS.items()
            }
        except RuleError:
            assert not taken.take(file, forms.FORMS[TEXT], imbalance, 2).rules
            continue
        late = 2 if imbalance else 0
        tree = json.loads(texts[CSEL])["collective=allreduce"]["comm_type=intra"]
        for n, size in itertools.product([*ranks, 5, 17], [*sizes, 50, 5000]):
            asked = (entries, n, size, imbalance, late)
            theirs = slow(*asked, counterparts.OPENMPI["allreduce"])
            assert by_text(texts[TEXT], "allreduce", n, size) == (theirs.number if theirs else 0)
            assert by_rules(texts[JSON_], "allreduce", n, size) == (
                theirs.name if theirs else "ignore"
            )
            for commutes, built_in in itertools.product(("yes", "no"), repeat=2):
                facts = {"comm_size": n, "avg_msg_size": size, "count": size // 4,
                         "is_commutative": commutes, "is_op_built_in": built_in}  # fmt: skip
                theirs = slow(*asked, counterparts.MPICH["allreduce"])
                if theirs and theirs.name == "ring" and commutes == "no":
                    theirs = None
                few = facts["count"] < 1 << (n.bit_length() - 1)
                if theirs and theirs.needs[:1] == ("count>=pow2",) and (few or built_in == "no"):
                    theirs = None
                own = "own_few" if n < 8 else "MPIR_own"
                want = f"MPIR_Allreduce_intra_{theirs.name}" if theirs else own
                assert by_csel(tree, facts) == want


def test_below_messages_mpich_would_take_less_for_at_most(tmp_path, base):
    file = file_of(tmp_path, {"bcast": [{"rules": [rule("binomial", 8)]}]})
    text, _ = forms.export(file, forms.FORMS[CSEL], 0, 1, base)
    tree = json.loads(text)["collective=bcast"]["comm_type=intra"]["comm_size=any"]
    assert list(tree) == ["avg_msg_size<=7", "avg_msg_size=any"]
    assert list(tree["avg_msg_size<=7"]) == ["comm_size<=7", "comm_size=any"]


def test_algorithms_that_need_something_have_it_checked(tmp_path, base):
    file = file_of(tmp_path, {"allgather": [{"rules": [rule("recursive_doubling")]}]})
    text, _ = forms.export(file, forms.FORMS[CSEL], 0, 1, base)
    tree = json.loads(text)["collective=allgather"]["comm_type=intra"]
    assert by_csel(tree, {"comm_size": 8, "total_msg_size": 5}).endswith("recursive_doubling")
    assert by_csel(tree, {"comm_size": 9, "total_msg_size": 5}) == "MPIR_own"


def test_segments_become_bytes(tmp_path):
    file = file_of(tmp_path, {"bcast": [{"rules": [rule("linear:segments=16", 1 << 20)]}]})
    text, _ = forms.export(file, forms.FORMS[TEXT], 0, 1)
    assert "1048576 3 0 65536 #" in text
    assert '"seg_size": 65536' in forms.export(file, forms.FORMS[JSON_], 0, 1)[0]


def left_of(tmp_path, form, collective, alg, **more):
    entry = {"rules": [rule("binomial", 1, 1) if collective != "allreduce" else rule("ring", 1, 1),
                       rule(alg)], **more}  # fmt: skip
    return taken.take(file_of(tmp_path, {collective: [entry]}), forms.FORMS[form], 0, 1)


@pytest.mark.parametrize(
    ("form", "collective", "alg", "reason"),
    [
        (TEXT, "allreduce", "sorted_linear_tree", "plans by arrivals, which Open MPI does not"),
        (CSEL, "bcast", "arrival_b", "plans by arrivals, which MPICH does not know"),
        (JSON_, "allreduce", "circulant", "Open MPI has no counterpart"),
        (CSEL, "gather", "linear_sync", "MPICH has no counterpart, or nothing else to choose"),
        (TEXT, "bcast", "linear", "give :segments=S and msg_size_min"),
        (TEXT, "reduce", "linear_tree:segments=4", "counts the bytes of a segment"),
    ],
)
def test_what_cannot_be_said_is_named(tmp_path, form, collective, alg, reason):
    *_, said = left_of(tmp_path, form, collective, alg).left
    assert said.startswith(f"{collective}[0].rules[1], {alg}: ")
    assert reason in said


@pytest.mark.parametrize(
    ("form", "theirs"),
    [(JSON_, "scatter_allgather_ring"), (CSEL, "scatter_ring_allgather")],
)
def test_the_second_part_of_a_broadcast_is_a_ring_by_default(tmp_path, base, form, theirs):
    file = file_of(tmp_path, {"bcast": [{"rules": [rule("scatter_allgather")]}]})
    text, found = forms.export(file, forms.FORMS[form], 0, 1, base)
    assert (found.rules, found.left) == (1, [])
    assert theirs in text


def test_nodes_are_a_condition_in_one_form_only(tmp_path):
    node = {"comm_rank_distribution": "single-node"}
    assert len(left_of(tmp_path, TEXT, "allreduce", "ring", **node).left) == 2
    assert not left_of(tmp_path, JSON_, "allreduce", "ring", **node).left
    spread = left_of(tmp_path, TEXT, "allreduce", "ring", comm_rank_distribution="one-per-node")
    assert spread.rules == 2
    assert "allreduce[0] is for one rank a node, and now for all communicators" in spread.notes


def test_operators_that_do_not_commute_are_warned_of(tmp_path):
    (note,) = left_of(tmp_path, TEXT, "allreduce", "ring").notes
    assert "with ring Open MPI gives wrong results of allreduce for operators that do not" in note
    assert not left_of(tmp_path, CSEL, "allreduce", "ring").notes


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--format", "frob"], "Invalid value for --format: 'frob'; give openmpi-4 or openmpi-6"),
        (["--format", TEXT, "--base", "x"], "--base has no effect with --format openmpi-4"),
        (["--format", CSEL, "--base", "absent"], "cannot read the base (No such file"),
        (["--format", CSEL, "--base", __file__], "no table of MPICH's choices in"),
        (["--format", CSEL, "--imbalance", "-1"], "Invalid value for --imbalance: -1"),
    ],
)
def test_export_refuses(capsys, tmp_path, words, message):
    file_of(tmp_path, {"allreduce": [{"rules": [rule("ring")]}]})
    asked = ["rules", "export", str(tmp_path / "rules.json"), "--output", str(tmp_path / "out")]
    assert cli.run([*asked, *words]) in (1, 2)
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_export_answers_scripts(capsys, tmp_path):
    file_of(tmp_path, {"allreduce": [{"rules": [rule("ring"), rule("sorted_linear_tree")]}]})
    out = tmp_path / "out"
    asked = ["rules", "export", str(tmp_path / "rules.json"), "--output", str(out), "--json"]
    assert cli.run([*asked, "--format", TEXT]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["file"], told["rules"]) == (str(out), 1)
    assert told["use"].endswith(str(out))
    assert "sorted_linear_tree" in told["left_out"][0]


def test_a_file_that_says_nothing_is_not_written(capsys, tmp_path):
    file_of(tmp_path, {"allreduce": [{"rules": [rule("sorted_linear_tree"), rule("native")]}]})
    out = tmp_path / "out"
    asked = ["rules", "export", str(tmp_path / "rules.json"), "--output", str(out)]
    assert cli.run([*asked, "--format", TEXT]) == 2
    assert "no rule can be exported" in capsys.readouterr().err
    assert not out.exists()


def test_sizes_that_mpich_cannot_read_are_refused(tmp_path, base):
    file = file_of(tmp_path, {"bcast": [{"rules": [rule("binomial", 1 << 31)]}]})
    with pytest.raises(RuleError, match="MPICH reads no such size: 2147483647"):
        forms.export(file, forms.FORMS[CSEL], 0, 1, base)
    with pytest.raises(RuleError, match="no MPICH found here"):
        forms.mpich_table(None)


# ---- the libraries themselves

BELOW, RING, ABOVE = 250, 5000, 20000  # numbers of float64
FORCED = {
    "openmpi": {
        "OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
        "OMPI_MCA_coll_tuned_allreduce_algorithm": "4",
    },
    "mpich": {"MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM": "ring"},
}


def bits(name, ranks, env):
    """Return the sums of a job of the library alone, by the number of elements."""
    counts = [str(each) for each in (BELOW, RING, ABOVE)]
    launch = launcher_of(name, ranks, [sys.executable, str(JOB), "allreduce", *counts])
    job = run_command(launch.command, {**launch.env, **env})
    assert job.code == 0, job.err
    return dict(re.findall(r"^(\d+): (\w+)$", job.out, re.MULTILINE))


@pytest.mark.parametrize("name", FAMILIES)
def test_the_library_obeys_the_file(name, tmp_path):
    pytest.importorskip("mpi4py", reason="mpi4py is not installed")
    installed(name)
    rules = [rule("native", high=8 * RING - 1), rule("ring", high=8 * RING)]
    file_of(tmp_path, {"allreduce": [{"comm_size_min": 4, "rules": rules}]})
    form, out = {"openmpi": TEXT, "mpich": CSEL}[name], tmp_path / "tuned"
    asked = ["rules", "export", str(tmp_path / "rules.json"), "--output", str(out)]
    assert cli.run([*asked, "--format", form]) == 0
    use = f"{forms.FORMS[form].use}{out}"
    tuned = dict(each.split("=", 1) for each in use.split())
    own, ring = bits(name, 4, {}), bits(name, 4, FORCED[name])
    assert all(own[str(count)] != ring[str(count)] for count in (BELOW, RING, ABOVE))
    assert bits(name, 4, tuned) == {**own, str(RING): ring[str(RING)]}
    assert bits(name, 3, tuned) == bits(name, 3, {})  # no rule for 3 ranks
