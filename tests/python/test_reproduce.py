"""Papers beside ours: honest fits, predictions, and sentences made from numbers."""

import random
from dataclasses import replace

import latecomer
import numpy as np
import pytest
from evidence.reproduce import closed_forms, sentences
from evidence.reproduce.comparison import FORMULA, Comparison, compare, evaluate
from evidence.reproduce.fit import (
    CLOSED_FORMS,
    PER_SECOND,
    PROGRAMS,
    baseline_rows,
    blocks,
    fit_network,
    read_costs,
)
from evidence.reproduce.paper import NAMES, Mapping, PaperError
from evidence.reproduce.predict import (
    MissingError,
    Predictor,
    Simulator,
    Time,
    choice,
    formula,
    implemented,
)
from reproduce_helpers import PAPERS, SOME

# ---- closed forms and fits


@pytest.mark.parametrize("seed", range(25))
def test_the_ring_costs_what_its_closed_form_says(seed):
    source = random.Random(seed)
    ranks, kib = source.randint(2, 24), source.randint(1, 4096)
    delay, alpha = source.choice([0.0, 1.0, 30.0]), source.choice([1e-6, 5e-5])
    number = replace(SOME, ranks=ranks, bytes=4 * ranks * (256 * kib // ranks + 1),
                     delay_ms=delay, arrival="onelate")  # fmt: skip
    costs = np.array([alpha, 8e-9, 1e-10])
    expected = closed_forms.terms("ring", number, 1).seconds(costs)
    late = [0.0] * ranks
    late[1] = delay / 1e3
    run = latecomer.simulate(
        "ring", ranks=ranks, count=number.bytes // 4, arrivals=late,
        network=f"alpha={1e9 * alpha}ns,beta=8ns,gamma=0.1ns",
    )  # fmt: skip
    assert run.mean_elapsed == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("ranks", [4, 16, 128])
def test_the_generalized_forms_meet_the_known_ones_at_powers_of_two(ranks):
    """Kolmakov and Zhang 2020: recursive halving is a special case; (44) moves as doubling."""
    number = replace(SOME, ranks=ranks)
    forms = {name: closed_forms.terms(name, number, 1) for name in
             ("kz_bandwidth", "recursive_halving", "kz_latency", "recursive_doubling")}  # fmt: skip
    assert forms["kz_bandwidth"] == forms["recursive_halving"]
    assert forms["kz_latency"].alpha == forms["recursive_doubling"].alpha
    assert forms["kz_latency"].beta == forms["recursive_doubling"].beta


def test_seven_processes_take_six_steps_and_twelve_parts():
    number = replace(SOME, ranks=7, bytes=7)
    assert closed_forms.terms("kz_bandwidth", number, 1) == closed_forms.Terms(6, 12, 6)
    latest = closed_forms.terms("kz_latency", number, 1)
    assert (latest.alpha, latest.beta, latest.gamma) == (3, 21, 28)


def planted(paper, costs):
    """The paper with the times that its closed forms give on a network of these costs."""
    rows = []
    for number in paper.numbers:
        form = paper.mappings[number.algorithm].formula if not number.comparison else ""
        if form and number.bytes > 0 and number.network == "" and number.metric == "run":
            seconds = closed_forms.terms(form, number, blocks(paper, number)).seconds(costs)
            number = replace(number, value=seconds * PER_SECOND[number.unit])  # noqa: PLW2901
        rows.append(number)
    return replace(paper, numbers=tuple(rows))


@pytest.mark.parametrize("seed", range(20))
def test_a_fit_finds_the_costs_that_made_the_times(seed):
    source = random.Random(seed)
    alpha, beta = 10 ** source.uniform(-7, -4), 10 ** source.uniform(-11, -7)
    fit = fit_network(planted(PAPERS["traeff2021"], np.array([alpha, beta, 0.0])))
    assert fit.costs["alpha"] == pytest.approx(alpha, rel=1e-6)
    assert fit.costs["beta"] == pytest.approx(beta, rel=1e-6)
    assert fit.rms < 1e-6


@pytest.mark.parametrize("factor", [0.5, 1.0, 3.0])
def test_a_fit_on_programs_meets_the_programs(factor):
    """A program of so many times its closed form's work: the costs come out as much less."""
    paper = PAPERS["traeff2021"]
    on_forms = fit_network(paper)

    def simulated(number, network):
        form = closed_forms.terms("pipelined_tree", number, blocks(paper, number))
        return form.scaled(factor).seconds(read_costs(network))

    fit = fit_network(paper, simulated)
    assert (on_forms.on, fit.on) == (CLOSED_FORMS, PROGRAMS)
    assert factor * fit.vector == pytest.approx(on_forms.vector, rel=1e-5)
    for row in fit.residuals:
        assert row.fitted == pytest.approx(simulated(row.number, fit.text), rel=1e-4)


def test_a_cost_that_would_be_negative_is_held_at_zero():
    paper = PAPERS["proficz2018"]
    fast = tuple(replace(n, value=n.value / 2) if n.value else n for n in paper.numbers)
    assert fit_network(replace(paper, numbers=fast)).costs["alpha"] == 0


def test_what_rows_cannot_tell_apart_is_said():
    """One size tells one number; sizes and blocks tell alpha and beta, but not gamma."""
    assert fit_network(PAPERS["proficz2018"]).determined == 1
    assert fit_network(PAPERS["traeff2021"]).determined == 2


@pytest.mark.parametrize(
    ("cost", "error", "shown"),
    [
        (4082.93e-9, 4.1e-6, "4000"),
        (1028.14e-9, 31e-9, "1030"),
        (0.565059e-9, 0.012e-9, "0.57"),
        (0.565059e-9, 0.0097e-9, "0.57"),  # 0.01 to one digit
        (0.516729e-9, 0.0021e-9, "0.517"),
        (3130e-9, 0.0, "3130"),  # not fitted
    ],
)
def test_a_cost_has_the_digits_that_its_error_allows(cost, error, shown):
    fit = replace(fit_network(PAPERS["traeff2021"]), errors={"alpha": error})
    fit = replace(fit, costs=fit.costs | {"alpha": cost})
    assert fit.told("alpha") == shown
    assert fit.rounded.startswith(f"alpha={shown}ns,")


def test_the_network_of_one_paper_is_what_the_other_is_fitted_to():
    paper = PAPERS["proficz2018"]
    fit = fit_network(paper, Simulator(paper, 1, 1).baseline)
    given = PAPERS["proficz2021"].facts
    assert f"{1e9 * given['network']['alpha']:.0f}" == fit.told("alpha")
    assert f"{sentences._cost(fit, 'alpha')};" in given["network_why"]["alpha"]


@pytest.mark.parametrize("name", NAMES)
def test_only_baselines_are_fitted(name):
    plan = PAPERS[name].facts["fit"]
    if plan is not None:
        for row in baseline_rows(PAPERS[name], plan):
            assert PAPERS[name].mappings[row.algorithm].role == "baseline"


def test_a_fit_on_a_claim_is_refused():
    plan = {"tables": ["Table 3"], "algorithms": ["Ring", "PRR"], "metric": "elapsed"}
    with pytest.raises(PaperError, match=r"claim is to be fitted: PRR; fit baselines only"):
        baseline_rows(PAPERS["proficz2018"], plan)


def test_changing_a_claim_changes_no_fit():
    paper = PAPERS["traeff2021"]
    wild = tuple(
        replace(n, value=7.0) if paper.mappings[n.algorithm].role == "claim" else n
        for n in paper.numbers
    )
    assert fit_network(replace(paper, numbers=wild)).costs == fit_network(paper).costs


# ---- predictions


def predictions(name, tables=None, iterations=1):
    paper = PAPERS[name].only(tables)
    fit = fit_network(PAPERS[name])
    return compare(
        paper, formula(paper, fit), Predictor(paper, fit, Simulator(paper, iterations, 1))
    )


def test_the_example_of_the_sorted_linear_tree_takes_14_and_12_steps():
    assert [row.ours for row in predictions("proficz2018", "Section 4.1")] == [14.0, 12.0]


def test_saturated_rows_of_table_3_agree():
    """From 50 ms on everything is pre-reduced; the model must then meet the paper."""
    rows = predictions("proficz2018", "3")
    late = [row for row in rows if row.number.algorithm in ("PRR", "SLT")
            and row.number.metric == "elapsed" and row.number.delay_ms >= 50]  # fmt: skip
    assert len(late) == 8
    assert all(abs(row.ratio - 1) < 0.03 for row in late)


def test_every_number_has_a_value_or_a_reason():
    for name in NAMES:
        for row in predictions(name):
            found = row.ours is not None or bool(row.name)
            assert found != bool(row.reason), row


def test_what_is_missing_names_the_algorithm():
    rows = predictions("marendic2012")
    built = implemented(PAPERS["marendic2012"].mappings["LocalReduce"])
    told = {row.reason for row in rows if row.reason}
    assert built or told == {"not implemented yet: local_redirect"}


def test_a_row_fills_in_when_the_registry_has_its_algorithm():
    paper = PAPERS["marendic2012"]
    here = tuple(replace(n, collective="allreduce") for n in paper.numbers)
    known = {
        name: Mapping(name, "allreduce", m.role, "recursive_doubling", m.formula, "")
        for name, m in paper.mappings.items()
    }
    filled = replace(paper, numbers=here, mappings=known)
    fit = fit_network(paper)
    rows = compare(filled, formula(filled, fit), Predictor(filled, fit, Simulator(filled, 1, 1)))
    assert {row.how for row in rows} == {"simulated"}


def test_the_fastest_of_several_is_named():
    number = replace(SOME, metric="elapsed fastest", algorithm="a", baseline="a|b|c", value=None)
    times = {"a": 3.0, "b": 1.0, "c": 2.0}
    paper = replace(
        PAPERS["proficz2018"],
        numbers=(number,),
        mappings={name: Mapping(name, "allreduce", "claim", "", "", "") for name in times},
    )

    def time_of(_number, mapping):
        return Time(times[mapping.name], "simulated")

    (row,) = compare(paper, time_of, time_of)
    assert (row.name, row.agrees) == ("b", False)
    best = replace(number, metric="elapsed speedup", algorithm="b|c", baseline="a|c", unit="ratio")
    assert evaluate(paper, best, time_of).value == 2.0
    apart = replace(best, metric="elapsed difference", unit="ms")
    assert evaluate(paper, apart, time_of).value == -1000.0


def test_parameters_follow_the_setting():
    paper = PAPERS["traeff2021"]
    number = replace(SOME, ranks=288, bytes=4 * 8388608)
    text = choice(paper, number, paper.mappings["Doubly pipelined"])
    assert text == "dual_root:segments=525"
    paper = PAPERS["kolmakov2020"]
    number = replace(SOME, ranks=127)
    chosen = [choice(paper, number, paper.mappings[name]) for name in paper.mappings][1:5]
    assert chosen == [f"generalized:steps={steps}:rounding=any" for steps in (14, 13, 12, 7)]


def test_settings_that_are_not_published_are_not_guessed():
    paper, fit = PAPERS["proficz2018"], fit_network(PAPERS["proficz2018"])
    predict = Predictor(paper, fit, Simulator(paper, 1, 1))
    for broken, reason in (
        (replace(SOME, arrival="unpublished"), "the arrivals are not published"),
        (replace(SOME, delay_ms=None, doubt="smudged"), "smudged"),
        (replace(SOME, bytes=0), "no data to move"),
        (replace(SOME, ranks=0), "ranks"),
    ):
        with pytest.raises(MissingError, match=reason):
            predict(broken, paper.mappings["Ring"])


def test_random_arrivals_follow_the_seed():
    paper, fit = PAPERS["proficz2018"].only("4"), fit_network(PAPERS["proficz2018"])
    number = next(n for n in paper.numbers if n.arrival == "randlate" and n.delay_ms == 50)
    mapping = paper.mappings["PRR"]
    one, again, other = (
        Predictor(paper, fit, Simulator(paper, 2, seed))(number, mapping) for seed in (1, 1, 2)
    )
    assert one == again
    assert one != other


# ---- sentences


def comparison(paper, ours, **more):
    number = replace(SOME, value=paper, **more)
    return Comparison(number, paper, ours, "", "simulated", "")


def told(rows):
    paper = PAPERS["proficz2018"]
    return "\n".join(sentences.agreement(paper, fit_network(paper), rows))


def test_sentences_count_what_agrees():
    rows = [comparison(10.0, ours, column=str(ours)) for ours in (9.5, 10.9, 12.0, 7.0)]
    text = told(rows)
    assert "2 of 4 within 10%, median of ours / paper 1.02" in text
    assert "largest deviation at a, 7.0: ours 7.00, paper 10.0 ms (-30%)" in text


def test_sentences_count_signs_of_differences():
    rows = [
        comparison(paper, ours, metric="elapsed difference", baseline="PRR", delay_ms=5.0,
                   column=str(ours))
        for paper, ours in ((1.0, 2.0), (-1.0, 0.5), (-3.0, -1.0), (2.0, 0.01))
    ]  # fmt: skip
    assert "same sign in 2 of 3, and ours is 0 in 1 more; median distance 1.75 ms" in told(rows)


def test_sentences_compare_winners():
    both = [
        comparison(paper, ours, algorithm=name, delay_ms=delay)
        for delay, name, paper, ours in (
            (0.0, "Ring", 1.0, 1.0), (0.0, "PRR", 2.0, 2.0),
            (1.0, "Ring", 1.0, 1.005), (1.0, "PRR", 2.0, 1.0),  # a tie is no disagreement
            (2.0, "Ring", 1.0, 3.0), (2.0, "PRR", 2.0, 2.0),
        )
    ]  # fmt: skip
    assert "in 2 of 3 settings the paper's fastest algorithm is ours too" in told(both)


@pytest.mark.parametrize(
    "at",
    [lambda name, delay: {"row": name, "column": delay},
     lambda name, delay: {"row": delay, "column": name}],
)  # fmt: skip
def test_sentences_compare_the_order_of_three(at):
    rows = [
        comparison(paper, ours, algorithm=name, delay_ms=delay, **at(name, f"{delay:g} ms"))
        for delay, name, paper, ours in (
            (0.0, "SLT", 1.0, 1.0), (0.0, "Ring", 2.0, 2.0), (0.0, "PRR", 3.0, 1.99),  # a tie
            (1.0, "SLT", 1.0, 1.0), (1.0, "Ring", 2.0, 3.0), (1.0, "PRR", 3.0, 2.0),
        )
    ]  # fmt: skip
    text = told(rows)
    assert "in 2 of 2 settings the paper's fastest algorithm is ours too" in text
    assert "in 1 of 2 settings all these algorithms come in the same order, but not at 1 ms" in text


def test_what_is_no_number_of_the_paper_says_so():
    text = told([comparison(10.0, 12.0, statistic=FORMULA)])
    assert "median of ours" not in text
    assert "ours 12.0, re-derived 10.0 ms" in text
    assert {row.source for row in predictions("kolmakov2020")} == {"re-derived"}
    assert {row.source for row in predictions("marendic2012")} == {"paper"}


def test_sentences_say_what_difference_and_ratio_imply():
    """A difference of 10 at a ratio of 0.5 is a ring of 10; rounding makes it 9.75 to 10.3."""
    more = {"baseline": "Ring", "algorithm": "PRR"}
    rows = [
        comparison(10.0, 1.0, metric="elapsed difference", **more),
        comparison(0.5, 1.0, metric="elapsed speedup", unit="ratio", **more),
    ]
    assert "(ms): a 9.75 to 10.3, ours " in told(rows)


def test_sentences_name_what_is_doubtful():
    assert "doubtful: Table 1, a, b: smudged" in told([comparison(1.0, 1.0, doubt="smudged")])
