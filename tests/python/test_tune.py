"""Rules that measurements give: their borders, the journal of a sweep, and a small sweep."""

import json
import random
import re
from dataclasses import replace
from pathlib import Path

import pytest
from dropin_helpers import launcher_of
from latecomer import cli
from latecomer.base.errors import UserError
from latecomer.core.compiled import core
from latecomer.lab import rules as rulefile
from latecomer.lab.bench import places
from latecomer.lab.bench.places import LocalPlace
from latecomer.lab.options.choices import OptionError
from latecomer.lab.tune import cells as tuning
from latecomer.lab.tune import journal as journals
from latecomer.lab.tune import write as writing
from latecomer.launch import mpi
from latecomer.verbs import tune as verb

COSTS = "alpha=100us,beta=40ns"


def measured(imbalance, algorithm, beats=True):
    return {"imbalance": imbalance, "algorithm": algorithm, "ratio": 0.5, "median_ms": 1.0,
            "native_ms": 2.0, "beats": beats}  # fmt: skip


def content_of(cells, **more):
    facts = {"ranks": 4, "spread": "one-per-node", "costs": COSTS, "one_late": True}
    return writing.rules_of(cells, **{**facts, "comment": "test", **more})


def served(path, size, imbalance, ranks=4, late=1):
    file = rulefile.read(path)
    network = core.Network(COSTS)
    seconds = imbalance * (network.alpha + network.beta * size)
    question = rulefile.Question("allreduce", ranks, size, seconds, late, range(ranks))
    return rulefile.explain(file, question).algorithm


def test_rules_hold_where_they_were_measured_and_not_far_from_it(tmp_path, monkeypatch):
    monkeypatch.delenv("LATECOMER_NETWORK", raising=False)
    cells = {
        ("allreduce", 4096): [measured(0.0, "ring"), measured(4.0, "linear_tree")],
        ("allreduce", 65536): [measured(0.0, "ring", beats=False), measured(4.0, "dual_root")],
    }
    writing.write(content_of(cells), path := tmp_path / "rules.json")
    assert [served(path, 4096, at) for at in (0, 1, 3, 100)] == ["ring"] * 2 + ["linear_tree"] * 2
    assert [served(path, 65536, at) for at in (0, 1, 3)] == ["auto", "auto", "dual_root"]
    border = 16384
    assert [served(path, size, 4) for size in (border - 1, border)] == ["linear_tree", "dual_root"]
    assert [served(path, size, 4) for size in (2896, 92680)] == ["auto", "dual_root"]
    assert served(path, 92683, 4) == "auto"
    assert served(path, 4096, 4, ranks=5) == "auto"
    assert served(path, 4096, 4, late=2) == "auto"
    text = path.read_text()
    assert text.count('"measured_ratio": 0.5') == text.count('"alg"') == 3


def test_every_measured_point_gets_its_winner(tmp_path, monkeypatch):
    monkeypatch.delenv("LATECOMER_NETWORK", raising=False)
    source = random.Random(4)
    for case in range(30):
        sizes = sorted(source.sample([4 << n for n in range(22)], source.randrange(1, 5)))
        factors = sorted(source.sample([0.0, 0.25, 1.0, 3.0, 10.0, 50.0], source.randrange(1, 5)))
        cells = {
            ("allreduce", size): [
                measured(at, source.choice(["ring", "dual_root"]), source.random() < 0.7)
                for at in factors
            ]
            for size in sizes
        }
        path = tmp_path / f"{case}.json"
        writing.write(content_of(cells), path)
        for (_, size), points in cells.items():
            for point in points:
                expected = point["algorithm"] if point["beats"] else "auto"
                assert served(path, size, point["imbalance"]) == expected, (cells, size, point)


def test_a_file_without_rules_is_right_whatever_the_command_line_was(tmp_path):
    content = content_of({("bcast", 64): []}, comment="\udc80" + "\u00e9" * 2000)
    writing.write(content, path := tmp_path / "rules.json")
    assert rulefile.read(path).rule_count == 0


# ---- which algorithm beats native


class FakePlace:
    """A place whose calls take as long as the test says."""

    rank, ranks, name, costs, costs_from, beta = 0, 4, "fake", COSTS, "test", 0.0


class FakeSample:
    def __init__(self, iteration, algorithm, elapsed, wrong=0):
        self.iteration, self.algorithm = iteration, algorithm
        self.elapsed, self.wrong = elapsed, wrong


class FakeOutcome:
    def __init__(self, samples, trouble=None, code=0):
        self.samples, self.trouble, self.code = self, trouble, code
        self._all = samples

    def complete(self):
        return self._all


GRID = tuning.Grid(["allreduce"], [4096], [0.0, 4.0], "ring,dual_root,linear_tree", "onelate",
                 "online", 8, 0, 0.0, 1)  # fmt: skip
CELL = tuning.Cell("allreduce", 4096)


def fake_runs(monkeypatch, seconds, **ending):
    """Calls of algorithm, in delayed iterations or not, take seconds(run, algorithm, late, n)."""
    runs = []

    def measure(benchmark, _place, job, _deadline, _keep):
        runs.append(benchmark.algorithms)
        samples = [
            FakeSample(n, name, seconds(len(runs), name, max(each.late) > 0, n))
            for n, each in enumerate(job)
            for name in benchmark.algorithms
        ]
        return FakeOutcome(samples, **ending)

    monkeypatch.setattr(tuning.job, "measure", measure)
    return runs


def test_the_best_is_confirmed_and_only_a_clear_gain_counts(monkeypatch):
    def seconds(run, name, late, n):
        noise = 1 + 0.1 * (n % 4)
        if name == "native":
            return 1.0 * noise
        if not late:
            return 0.99 * noise if name == "ring" else 2.0
        if name == "dual_root":  # lucky in the first run only
            return 0.3 if run == 1 else 1.2
        return 0.5 * noise if name == "linear_tree" else 3.0

    runs = fake_runs(monkeypatch, seconds)
    balanced, late = tuning.measure(GRID, CELL, FakePlace(), None)
    assert runs == [["native", "ring", "dual_root", "linear_tree"],
                    ["native", "ring", "dual_root", "linear_tree"]]  # fmt: skip
    assert (balanced.algorithm, balanced.beats) == ("ring", False)
    assert (late.algorithm, late.beats, late.imbalance) == ("linear_tree", True, 4.0)
    assert late.ratio == pytest.approx(0.5)


def test_the_second_run_chooses_no_other_algorithm(monkeypatch):
    """One that the first run did not pick at a delay may be lucky in the second."""

    def seconds(run, name, late, _n):
        if name == "native":
            return 1.0
        if not late:  # the first run picks nothing here
            return 2.0 if run == 1 else 0.5
        second = {"ring": 0.8, "dual_root": 0.7, "linear_tree": 0.2}
        first = {"ring": 0.5, "dual_root": 0.6, "linear_tree": 2.0}
        return (first if run == 1 else second)[name]

    fake_runs(monkeypatch, seconds)
    balanced, late = tuning.measure(GRID, CELL, FakePlace(), None)
    assert (balanced.algorithm, balanced.beats, balanced.ratio) == ("native", False, 1.0)
    assert (late.algorithm, late.beats, late.ratio) == ("ring", True, pytest.approx(0.8))


def test_nothing_is_confirmed_where_native_is_best(monkeypatch):
    runs = fake_runs(monkeypatch, lambda _run, name, _late, _n: 1.0 if name == "native" else 2.0)
    assert tuning.measure(GRID, CELL, FakePlace(), None) == []
    assert len(runs) == 1


def test_wrong_results_end_the_sweep(monkeypatch):
    samples = [FakeSample(0, "native", 1.0), FakeSample(0, "ring", 1.0, wrong=2)]
    monkeypatch.setattr(tuning.job, "measure", lambda *_: FakeOutcome(samples))
    said = "wrong results in cell allreduce 4096 B: ring; report this"
    with pytest.raises(Exception, match=said):
        tuning.measure(GRID, CELL, FakePlace(), None)


def test_all_that_arrivals_change_is_measured_by_default():
    chosen = replace(GRID, algorithms=None).algorithms_of("allreduce")
    assert chosen[:2] == ["native", "fastest"]
    assert {"prereduced_ring", "online_owners"} <= set(chosen)
    assert not {"auto", "recursive_doubling"} & set(chosen)


def test_rules_that_cannot_be_written_name_the_option(tmp_path):
    path = tmp_path / "absent" / "rules.json"
    with pytest.raises(UserError, match=r"cannot write the rules \(No such file.*; use --output"):
        writing.write(content_of({}), path)


@pytest.mark.parametrize(("beats", "said"), [
    (True, "out.json: 1 rule; latecomer rules explain out.json lists them"),
    (False, "out.json: no rules, since nothing beat the MPI library beyond the noise"),
])  # fmt: skip
def test_the_number_of_rules_is_told(capsys, beats, said):
    content = content_of({("allreduce", 4096): [measured(0.0, "ring", beats=beats)]})
    verb._tell(content, Path("out.json"), as_json=False)
    assert capsys.readouterr().out == said + "\n"


def test_a_cell_that_fails_ends_the_sweep(monkeypatch):
    fake_runs(monkeypatch, lambda *_: 1.0, trouble="the benchmark program ended", code=1)
    with pytest.raises(Exception, match="cell allreduce 4096 B: the benchmark program ended"):
        tuning.measure(GRID, CELL, FakePlace(), None)
    fake_runs(monkeypatch, lambda *_: 1.0, trouble="interrupted", code=130)
    with pytest.raises(KeyboardInterrupt):
        tuning.measure(GRID, CELL, FakePlace(), None)


# ---- the journal


def test_the_journal_keeps_finished_cells_and_drops_what_was_cut_off(tmp_path):
    path = tmp_path / "journal"
    settings = {"ranks": 4, "sizes": (1, 2)}
    first = journals.Journal(path, settings)
    first.add("a", [1])
    first.add("b", [])
    with path.open("a") as file:
        file.write('{"cell": "c", "res')
    again = journals.Journal(path, settings)
    assert again.cells == {"a": [1], "b": []}
    again.add("c", [3])
    assert journals.Journal(path, settings).cells == {"a": [1], "b": [], "c": [3]}


def test_a_journal_of_other_settings_is_refused(tmp_path):
    journals.Journal(path := tmp_path / "journal", {"ranks": 4, "seed": 1})
    with pytest.raises(journals.JournalError, match=r"other settings: ranks 4; use these"):
        journals.Journal(path, {"ranks": 8, "seed": 1})


@pytest.mark.parametrize("text", ["nonsense\n", "[]\n", '{"settings": {}}\n{"cell": "a"}\n'])
def test_a_journal_that_is_none_is_refused(tmp_path, text):
    path = tmp_path / "journal"
    path.write_text(text)
    with pytest.raises(journals.JournalError, match=r"line [12] of the journal"):
        journals.Journal(path, {})


def test_a_journal_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(journals.JournalError, match="cannot write the journal"):
        journals.Journal(tmp_path / "no" / "journal", {})


# ---- the verb

SMALL = ["--place", "local", "--nodes", "2", "--bytes", "4KiB,64KiB", "--imbalance", "0,2",
         "--iterations", "4", "--warmup", "1", "--compute", "0", "--algorithms", "ring"]  # fmt: skip


def test_a_sweep_goes_on_where_it_was_interrupted(tmp_path, capsys, monkeypatch):
    output = tmp_path / "rules.json"
    words = ["tune", *SMALL, "--output", str(output)]
    real, calls = tuning.measure, []

    def interrupted(grid, cell, place, deadline):
        calls.append(cell.bytes)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(grid, cell, place, deadline)

    monkeypatch.setattr(tuning, "measure", interrupted)
    assert cli.run(words) == 130
    assert not output.exists()
    assert cli.run([*words, "--json"]) == 0
    assert calls == [4096, 65536, 65536]
    out, err = capsys.readouterr()
    assert "1 of 2 cells are in" in err
    assert "cell 2 of 2: allreduce 65536 B" in err
    told = json.loads(out)
    assert rulefile.read(output).rule_count == told["rules"]
    assert cli.run([*words[:-2], "--seed", "2", "--output", str(output)]) == 1
    assert re.search(r"begun with other settings: seed 1;", capsys.readouterr().err)


def test_a_journal_is_of_one_mpi_library_and_version(tmp_path, monkeypatch, capsys):
    words = ["tune", *SMALL, "--output", str(tmp_path / "rules.json")]
    monkeypatch.setattr(tuning, "measure", lambda *_: [])
    assert cli.run(words) == 0
    monkeypatch.setattr(mpi.Family, "describe", lambda _: "otherlib 1.0")
    monkeypatch.setattr("latecomer.__version__", "0.0")
    assert cli.run(words) == 1
    said = capsys.readouterr().err
    assert re.search(r"begun with other settings: mpi \S+ \S+, version \d", said)


def test_the_ranks_of_a_job_are_counted(monkeypatch):
    launch = launcher_of("openmpi", 3, [])
    for name, value in launch.env.items():
        monkeypatch.setenv(name, value)
    place, spread = places.place_of(None, None, None, 1, "openmpi", COSTS, launch.command)
    assert (place.ranks, spread, place.costs) == (3, "any", COSTS)
    assert place.run(["--help"], 30) == 0  # the benchmark program's


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("inherit", None, None, 1, None, None, []), "without a launcher"),
        (("lab", None, None, 1, None, None, ["mpirun"]), "a launcher with options of the place"),
        ((None, 4, None, 1, None, None, ["mpirun"]), "a launcher with options of the place"),
        ((None, None, None, 1, None, None, ["./app"]), "no launcher: ./app"),
        ((None, None, None, 1, None, None, ["mpirun.no"]), "ranks started by mpirun.no: 0"),
    ],
)
def test_places_that_cannot_be_are_refused(options, message):
    with pytest.raises(OptionError, match=message):
        places.place_of(*options)


def test_the_spread_is_that_of_the_place():
    place, spread = places.place_of("local", 2, None, 1, None, None, [])
    assert isinstance(place, LocalPlace)
    assert spread == "single-node"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--collectives", "alltoall"], "no such --collective: alltoall"),
        (["--bytes", "10"], "--bytes: 10; give multiples of 4"),
        (["--imbalance", "0,-1"], "--imbalance '0,-1'; give numbers from 0 up"),
        (["--imbalance", "much"], "--imbalance 'much'"),
        (["--algorithms", "frob"], "frob"),
        (["--arrival", "balanced"], "--arrivals: 'balanced'; use onelate"),
    ],
)
def test_tune_refuses(capsys, tmp_path, words, message):
    assert cli.run(["tune", *words, "--output", str(tmp_path / "x.json")]) == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
