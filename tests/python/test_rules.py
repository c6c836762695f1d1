"""Files of rules: their reader, the rule that serves a call, and programs that follow them."""

import json
import random
import re
import subprocess
import sys

import pytest
from dropin_helpers import cases_of, launcher_of, run_cases, run_command
from latecomer import cli
from latecomer.core.compiled import core
from latecomer.lab import rules as rulefile
from latecomer.launch import preload
from scenes_helpers import both_families

TOP = {"rule_file_version": 1, "module": "latecomer"}


def file_of(*entries, collective="allreduce", **more):
    """A file's content."""
    return {**TOP, **more, "collectives": {collective: list(entries)}}


def entry(*all_rules, **more):
    return {**more, "rules": list(all_rules)}


def written(tmp_path, content, name="rules.json"):
    path = tmp_path / name
    path.write_text(content if isinstance(content, str) else json.dumps(content, indent=1))
    return path


# ---- what is refused

RING = {"alg": "ring"}
REFUSED = [
    ([], "'a list' is not usable; right would be an object"),
    ({}, "'no rule_file_version' is not usable"),
    ({"rule_file_version": 1}, "'no module' is not usable"),
    (TOP, "'no collectives' is not usable"),
    ({**TOP, "collectives": {}, "rules": []}, "'rules' is not usable; right would be one of the"),
    (file_of(rule_file_version=3), "rule_file_version: '3' is not usable; right would be 1"),
    (file_of(rule_file_version="1"), "rule_file_version: '1'"),
    (file_of(module="tuned"), "module: 'tuned' is not usable; right would be latecomer"),
    (file_of(comment=[]), "comment: 'a list' is not usable; right would be a text"),
    (file_of(**{"$schema": 7}), "$schema: '7'"),
    (file_of(network=50), "network: '50' is not usable; right would be costs as a text"),
    (file_of(network="alpha=fast"), "network: 'alpha=fast'"),
    (file_of(network="alpha=50us\n"), "network: 'alpha=50us?'"),
    (file_of(comm_rank_distribution="nodes"), "right would be any, single-node or one-per-node"),
    ({**TOP, "collectives": []}, "collectives: 'a list'"),
    (file_of(collective="alltoall"), "collectives: 'alltoall' is not usable; right would be one"),
    ({**TOP, "collectives": {"bcast": {}}}, "collectives.bcast: 'an object' is not usable"),
    (file_of(7), "collectives.allreduce[0]: '7' is not usable; right would be an object"),
    (file_of({}), "collectives.allreduce[0]: 'no rules' is not usable"),
    (file_of(entry(), entry(comm_size=4)), "allreduce[1]: 'comm_size' is not usable"),
    (file_of(entry(comment=1)), "allreduce[0].comment: '1' is not usable"),
    (file_of(entry(comm_size_min=-1)), "comm_size_min: '-1' is not usable; right would be a whole"),
    (file_of(entry(comm_size_min=1.5)), "comm_size_min: '1.5'"),
    (file_of(entry(comm_size_min="4")), "comm_size_min: '4'"),
    (file_of(entry(comm_size_min="inf")), "comm_size_min: 'inf'"),
    (file_of(entry(comm_size_max="all")), "comm_size_max: 'all' is not usable; right would be a"),
    (file_of(entry(comm_size_max=2**31)), "comm_size_max: '2147483648'"),
    (file_of(entry(comm_size_min=9, comm_size_max=8)), "right would be at least comm_size_min"),
    (file_of(entry(comm_rank_distribution=None)), "comm_rank_distribution: 'null'"),
    (
        file_of({"rules": {}}),
        "allreduce[0].rules: 'an object' is not usable; right would be a list",
    ),
    (file_of(entry("ring")), "rules[0]: 'ring' is not usable; right would be an object"),
    (file_of(entry({})), "rules[0]: 'no alg' is not usable"),
    (file_of(entry({"alg": 4})), "rules[0].alg: '4' is not usable; right would be an algorithm's"),
    (file_of(entry({"alg": "frob"})), "rules[0].alg: 'frob' is not usable; right would be"),
    (file_of(entry({"alg": "ring\u001b[2J"})), "rules[0].alg: 'ring?[2J'"),
    (file_of(entry({"alg": "linear_tree:segments=0"})), "alg: 'linear_tree:segments=0'"),
    (file_of(entry({"alg": "linear_tree:frob=1"})), "alg: 'linear_tree:frob=1'"),
    (file_of(entry({"alg": "binomial"})), "alg: 'binomial'"),  # a broadcast's
    (file_of(entry({**RING, "algorithm": "ring"})), "rules[0]: 'algorithm' is not usable"),
    (file_of(entry({**RING, "comment": None})), "rules[0].comment: 'null'"),
    (file_of(entry({**RING, "msg_size_min": 2**53 + 2})), "msg_size_min: '9007199254740994'"),
    (file_of(entry({**RING, "msg_size_min": True})), "msg_size_min: 'true'"),
    (file_of(entry({**RING, "msg_size_max": "64KiB"})), "msg_size_max: '64KiB'"),
    (file_of(entry({**RING, "msg_size_min": 2, "msg_size_max": 1})), "msg_size_max: '1'"),
    (file_of(entry({**RING, "imbalance_min": -0.5})), "imbalance_min: '-0.5' is not usable; right"),
    (file_of(entry({**RING, "imbalance_min": "300ms"})), "imbalance_min: '300ms'"),
    (file_of(entry({**RING, "imbalance_max": 1e10})), "imbalance_max: '1e+10'"),
    (file_of(entry({**RING, "imbalance_min": 2, "imbalance_max": 1})), "imbalance_max: '1'"),
    (file_of(entry({**RING, "late_ranks_min": 0.5})), "late_ranks_min: '0.5'"),
    (file_of(entry({**RING, "late_ranks_max": -1})), "late_ranks_max: '-1'"),
    (file_of(entry({**RING, "late_ranks_min": 2, "late_ranks_max": 1})), "late_ranks_max: '1'"),
    (file_of(entry({**RING, "measured_ratio": 0})), "measured_ratio: '0' is not usable; right"),
    (file_of(entry({**RING, "measured_ratio": "half"})), "measured_ratio: 'half'"),
    (file_of(*[entry()] * 257), "collectives.allreduce: '257 of them' is not usable; right would"),
    (file_of(entry(*[RING] * 257)), "allreduce[0].rules: '257 of them'"),
    ("{" * 20, "right would be a key in double quotes"),
    ("[" * 20, "lists and objects in each other: '9'"),
    (" " * (1 << 18) + "{}", "bytes: '262145' is not usable; right would be at most 262144"),
    (json.dumps(file_of()) + "x", "'x' is not usable; right would be the end of the file"),
    ('{"module": "latecomer",\n "module": "latecomer"}', "line 2, key: 'module'"),
    ('{"rule_file_version": 1e999}', "right would be one that a double can hold"),
]


@pytest.mark.parametrize(("content", "message"), REFUSED)
def test_what_has_another_form_is_refused_with_its_place(content, message, tmp_path):
    path = written(tmp_path, content)
    with pytest.raises(ValueError, match=re.escape(message)) as refused:
        rulefile.read(path)
    assert str(refused.value).startswith(f"rules file {path}, ")
    assert "\x1b" not in str(refused.value)


def test_the_line_is_that_of_the_value(tmp_path):
    content = file_of(entry(RING, {"alg": "frob"}))
    path = written(tmp_path, content)
    line = path.read_text().split("\n").index('      "alg": "frob"') + 1
    with pytest.raises(ValueError, match=rf"line {line}, .*rules\[1\]\.alg"):
        rulefile.read(path)


def test_a_file_that_cannot_be_read_is_refused(tmp_path):
    with pytest.raises(rulefile.RuleError, match=r"cannot read the rules \(No such file"):
        rulefile.read(tmp_path / "none.json")
    (tmp_path / "bad.json").write_bytes(b'{"comment": "\xff"}')
    with pytest.raises(ValueError, match="UTF-8"):
        rulefile.read(tmp_path / "bad.json")


# ---- the rule that serves a call, beside a slow reader of the same file


def slow_find(content, call):
    """The path of the rule that serves the call, None for none."""

    def within(conditions, name, value):
        low, high = conditions.get(f"{name}_min", 0), conditions.get(f"{name}_max", "inf")
        return low <= value and (high == "inf" or value <= high)

    imbalance = max(call["arrivals"]) - min(call["arrivals"]) if call["arrivals"] else 0
    first = min(call["arrivals"], default=0)
    late = [each for each in call["arrivals"] if each - first > imbalance / 2]
    factor = imbalance / call["transfer"] if imbalance > 0 else 0
    for i, each in enumerate(content["collectives"].get(call["collective"], ())):
        spread = each.get("comm_rank_distribution", content.get("comm_rank_distribution", "any"))
        if not within(each, "comm_size", call["ranks"]) or spread not in ("any", call["spread"]):
            continue
        for j, rule in enumerate(each["rules"]):
            if (
                within(rule, "msg_size", call["bytes"])
                and within(rule, "imbalance", factor)
                and within(rule, "late_ranks", len(late))
            ):
                return i, j
        return None
    return None


def random_limits(source, name, choices):
    limits = {}
    low, high = sorted(source.choices(choices, k=2))
    if source.random() < 0.4:
        limits[f"{name}_min"] = low
    if source.random() < 0.4:
        limits[f"{name}_max"] = source.choice([high, high, "inf"])
    return limits


def random_file(source):
    def rule():
        return {
            **random_limits(source, "msg_size", [0, 64, 4096, 65536, 2**53]),
            **random_limits(source, "imbalance", [0, 0.5, 1, 2, 8]),
            **random_limits(source, "late_ranks", [0, 1, 2, 3]),
            "alg": source.choice(["ring", "native", "auto"]),
        }

    def one():
        spread = source.choice([None, None, "any", "single-node", "one-per-node"])
        return {
            **random_limits(source, "comm_size", [0, 2, 4, 8]),
            **({"comm_rank_distribution": spread} if spread else {}),
            "rules": [rule() for _ in range(source.randrange(4))],
        }

    content = {**TOP, "collectives": {}}
    if source.random() < 0.3:
        content["comm_rank_distribution"] = source.choice(["any", "one-per-node"])
    for name in source.sample(["allreduce", "allgather"], source.randrange(3)):
        content["collectives"][name] = [one() for _ in range(source.randrange(4))]
    return content


def test_the_rule_is_the_one_that_a_slow_reader_finds():
    source = random.Random(35)
    network = core.Network("alpha=1ms,beta=0ns")
    served = 0
    for _ in range(400):
        content = random_file(source)
        for entries in content["collectives"].values():
            for i, each in enumerate(entries):
                for j, rule in enumerate(each["rules"]):
                    rule["comment"] = f"{i}.{j}"
        for _ in range(10):
            ranks = source.choice([2, 3, 4, 8, 9])
            placement = source.choice(
                [None, [0] * ranks, list(range(ranks)), [0, 0, *range(1, ranks - 1)]]
            )
            spread = {None: "unknown", 1: "single-node", ranks: "one-per-node"}.get(
                placement and len(set(placement)), "any"
            )
            late = [source.choice([0, 0, 2e-4, 1e-3, 1.5e-3, 9e-3]) for _ in range(ranks)]
            call = {
                "collective": source.choice(["allreduce", "allgather"]), "ranks": ranks,
                "bytes": source.choice([1, 64, 65, 4096, 70000]), "transfer": 1e-3,
                "spread": spread, "arrivals": source.choice([[], late]),
            }  # fmt: skip
            text = one_rule_a_line(content)
            found = core.UserRules(text, "x").find(
                core.Problem(call["collective"], ranks=ranks, count=call["bytes"], element_bytes=1),
                call["arrivals"], network, placement,
            )  # fmt: skip
            path = slow_find(content, call)
            entries = content["collectives"].get(call["collective"])
            expected = 0
            if path is not None:
                mine = json.dumps(entries[path[0]]["rules"][path[1]])
                expected = line_in(text, call["collective"], mine)
                served += 1
            assert found == expected, (content, call)
    assert served > 400


def one_rule_a_line(content):
    """The file with a line for each rule; the collective's name is on the line before its own."""
    parts = []
    for name, entries in content["collectives"].items():
        lines = [
            json.dumps({k: v for k, v in each.items() if k != "rules"})[:-1].rstrip()
            + (", " if len(each) > 1 else "")
            + '"rules": [\n'
            + ",\n".join(json.dumps(rule) for rule in each["rules"])
            + "\n]}"
            for each in entries
        ]
        parts.append(f'"{name}": [\n' + ",\n".join(lines) + "\n]")
    top = json.dumps({k: v for k, v in content.items() if k != "collectives"})[:-1]
    return top + ', "collectives": {\n' + ",\n".join(parts) + "\n}}"


def line_in(text, collective, rule):
    lines = text.split("\n")
    begin = lines.index(f'"{collective}": [')
    return next(n for n in range(begin, len(lines)) if lines[n].rstrip(",") == rule) + 1


# ---- the verbs

EXAMPLE = file_of(
    entry({"alg": "native"}, comm_size_max=8),
    entry(
        {"msg_size_min": 1 << 20, "imbalance_min": 10, "late_ranks_max": 1, "alg": "linear_tree"},
        {"msg_size_min": 1 << 20, "imbalance_min": 0.5, "alg": "prereduced_ring",
         "measured_ratio": 0.71},
        comm_size_max=32,
    ),
    network="alpha=100us,beta=41.8ns",
)  # fmt: skip
CALL = ["--collective", "allreduce", "--ranks", "16", "--bytes", "4MiB"]


def run_verb(capsys, *words):
    code = cli.run(["rules", *map(str, words)])
    out, err = capsys.readouterr()
    return code, out, err


def test_check_says_that_a_file_is_right_or_where_it_is_not(capsys, tmp_path):
    path = written(tmp_path, EXAMPLE)
    assert run_verb(capsys, "check", path)[:2] == (0, f"{path}: 3 rules, all of them right\n")
    code, out, _ = run_verb(capsys, "check", path, "--json")
    assert (code, json.loads(out)["rules"]) == (0, 3)
    one = written(tmp_path, file_of(entry({"alg": "ring"})), "one.json")
    assert run_verb(capsys, "check", one)[1] == f"{one}: 1 rule, which is right\n"
    bad = written(tmp_path, file_of(entry({"alg": "frob"})), "bad.json")
    code, _, err = run_verb(capsys, "check", bad)
    assert code == 2
    assert "rules[0].alg: 'frob' is not usable" in err


def test_explain_says_which_rule_serves_a_call_and_why(capsys, tmp_path, monkeypatch):
    monkeypatch.delenv("LATECOMER_NETWORK", raising=False)
    path = written(tmp_path, EXAMPLE)
    code, out, _ = run_verb(capsys, "explain", path, *CALL, "--delay", "300ms")
    assert code == 0
    assert "for at most 8 ranks, and the communicator has 16" in out
    assert "for an imbalance of at least 10 transfer times" in out
    assert re.search(r"so the rule in line \d+ serves the call: prereduced_ring\n", out)
    assert "takes 175.4 ms (costs: the file)" in out
    more = [*CALL, "--delay", "300ms", "--network", "alpha=1us,beta=1ns"]
    assert "serves the call: linear_tree" in run_verb(capsys, "explain", path, *more)[1]
    several = [*more, "--late-ranks", "2"]
    assert (
        "at most 1 late ranks, and 2 are expected" in run_verb(capsys, "explain", path, *several)[1]
    )
    assert "serves the call: auto" in run_verb(capsys, "explain", path, *CALL)[1]
    answer = json.loads(run_verb(capsys, "explain", path, *several, "--json")[1])
    assert answer["algorithm"] == "prereduced_ring"
    assert answer["considered"][-1]["line"] == answer["line"]


def test_explain_lists_all_rules(capsys, tmp_path):
    path = written(tmp_path, EXAMPLE)
    code, out, _ = run_verb(capsys, "explain", path)
    assert code == 0
    assert "allreduce, 0 to 32 ranks" in out
    assert "from 1 MiB, imbalance from 0.5 transfer times: prereduced_ring (measured: 0.71" in out
    assert json.loads(run_verb(capsys, "explain", path, "--json")[1])["collectives"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--ranks", "4"], "give --collective, --ranks and --bytes together"),
        ([*CALL, "--delay", "1s", "--late-ranks", "16"], "late ranks: 16; use 1 to 15"),
        ([*CALL, "--delay", "soon"], "--delay"),
        ([*CALL[:4], "--bytes", "many"], "--bytes"),
        (["--collective", "alltoall", *CALL[2:]], "alltoall"),
    ],
)
def test_explain_refuses(capsys, tmp_path, words, message):
    code, _, err = run_verb(capsys, "explain", written(tmp_path, EXAMPLE), *words)
    assert code == 2
    assert message in err


# ---- programs


def by_size(algorithm):
    return file_of(
        entry({"msg_size_max": 100000, "alg": algorithm}, {"alg": "native"}, comm_size_max=8)
    )


@both_families
def test_a_program_follows_the_rules(name, tmp_path):
    path = written(tmp_path, by_size("ring"))
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())  # as some editors begin a file
    job = run_cases(name, 3, ["reductions", "same_everywhere"],
                    {"LATECOMER_RULES": str(path), "LATECOMER_STATS": "1"})  # fmt: skip
    err = job.check().err
    # The ranks are linked after the first call.
    assert re.search(
        r"allreduce +8000 .* 11 handled, 1 fallback_link: .* 11 auto \(as=ring\)", err
    ), err
    assert re.search(r"allreduce +320000 .* 6 native: 6 native", err), err


@both_families
def test_rules_do_not_count_where_an_algorithm_is_set(name, tmp_path):
    path = written(tmp_path, by_size("ring"))
    job = run_cases(name, 2, ["reductions"], {"LATECOMER_RULES": str(path), "LATECOMER_STATS": "1",
                    "LATECOMER_ALGORITHM": "allreduce:recursive_doubling"})  # fmt: skip
    assert "as=ring" not in job.check().err
    assert "recursive_doubling" in job.err


def test_arrivals_choose_in_a_program(tmp_path):
    """Rank 1 is late in every call; on a busy machine others are late, too."""
    late = {"imbalance_min": 1e-3, "late_ranks_min": 1, "alg": "linear_tree"}
    path = written(tmp_path, file_of(entry(late, {"alg": "ring"})))
    variables = {"LATECOMER_RULES": str(path), "LATECOMER_STATS": "1", "LATECOMER_MIN_BYTES": "0"}
    job = run_cases("openmpi", 3, ["one_late"], variables).check()
    assert "as=linear_tree" in job.err, job.err


def test_the_file_in_force_and_its_costs_are_told(tmp_path):
    path = written(tmp_path, file_of(network="alpha=7us,beta=1ns"))
    job = run_cases(
        "openmpi", 2, ["nothing"], {"LATECOMER_RULES": str(path), "LATECOMER_LOG": "info"}
    )
    assert f"LATECOMER_RULES = {path} (environment)" in job.check().err
    assert re.search(r"LATECOMER_NETWORK = alpha=7e-06s,.* \(rules\)", job.err)


@both_families
def test_a_file_that_is_wrong_is_named_once_and_not_used(name, tmp_path):
    for content, message in (
        (file_of(entry({"alg": "frob"})), "rules[0].alg: 'frob' is not usable"),
        (None, "right would be a file that can be read"),
    ):
        path = tmp_path / "rules.json"
        path.unlink(missing_ok=True)
        if content:
            written(tmp_path, content)
        job = run_cases(name, 3, ["reductions"], {"LATECOMER_RULES": str(path),
                                                  "LATECOMER_STATS": "1"})  # fmt: skip
        assert job.check().err.count(message) == 1
        assert "LATECOMER_RULES is not used" in job.err
        assert "handled" in job.err or "native" in job.err  # active, by auto


@both_families
def test_ranks_with_other_rules_leave_all_to_the_mpi_library(name, tmp_path):
    from test_dropin_begin import local

    one, other = written(tmp_path, by_size("ring"), "1.json"), written(tmp_path, EXAMPLE, "2.json")
    launch = launcher_of(name, 1, [cases_of(name), "reductions"])

    def words(path):
        variables = {"LATECOMER_RULES": str(path), "LATECOMER_STATS": "1"}
        return local(preload.preloading(launch.command, preload.library(), variables))

    for second in (other, tmp_path / "none.json"):
        job = run_command([*words(one), ":", *words(second)[1:]], launch.env)
        assert "settings differ between ranks: LATECOMER_RULES" in job.check().err
    same = written(tmp_path, by_size("ring"), "copy.json")
    job = run_command([*words(one), ":", *words(same)[1:]], launch.env)
    assert "settings differ" not in job.check().err
    assert "as=ring" in job.err


def test_run_takes_rules_and_refuses_wrong_ones(capsys, tmp_path):
    bad = written(tmp_path, file_of(entry({"alg": "frob"})))
    assert cli.run(["run", "--rules", str(bad), "--", "mpirun", "-n", "2", "true"]) == 2
    assert "'frob' is not usable" in capsys.readouterr().err


def test_a_rule_is_looked_for_with_a_node_and_a_time_for_each_rank():
    content = file_of(entry(RING, comm_rank_distribution="single-node"))
    rules = core.UserRules(json.dumps(content), "rules")
    problem = core.Problem("allreduce", ranks=3, count=10)
    assert rules.find(problem, [], core.Network(), [-5, -5, -5]) > 0
    for asked in (rules.find, rules.consider):
        with pytest.raises(ValueError, match="a node for each of the 3 ranks"):
            asked(problem, [], core.Network(), [0])
        with pytest.raises(ValueError, match="one time for each of 3 ranks"):
            asked(problem, [0.0], core.Network())


def test_examples_of_the_page_are_right(tmp_path):
    from scenes_helpers import ROOT

    page = (ROOT / "docs" / "rules.md").read_text()
    blocks = re.findall(r"^((?:    .*\n|\n)+)", page, re.M)
    files = [text for text in blocks if '"rule_file_version"' in text]
    assert files
    for text in files:
        rulefile.read(written(tmp_path, text))


def test_reading_needs_no_other_package(tmp_path):
    """The reader is the library's own: the verb starts without the parts that measure."""
    path = written(tmp_path, EXAMPLE)
    program = (
        "import sys; from latecomer import cli; code = cli.run(sys.argv[1:]); "
        "sys.exit(code or 'latecomer.lab.bench' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "rules", "check", str(path)], check=False, timeout=600
    )
    assert done.returncode == 0
