"""Pictures of sweeps: axes, looks of lines, and words that stay inside."""

import random
import warnings
from itertools import pairwise

import pytest
from latecomer.core import registry
from latecomer.lab.views import curves, plot, scaling, style
from matplotlib.colors import to_hex
from test_report import row

COSTS = "alpha=5e-05s,beta=8e-09s,gamma=1e-10s,eager=65536,handshake=0s,ports=1,exchange=1,burst=0"
NAMES = [row.name for row in registry.algorithms("allreduce")]


def sweep(names=("ring", "circulant"), ranks=(2, 4, 8, 16), sizes=(64,), delays=(5.0,), time=None):
    """Rows of which `time` (of ranks and bytes) tells the milliseconds."""
    time = time or (lambda ranks, size: ranks)
    return [
        row(
            name,
            delay,
            9.0,
            ranks=p,
            bytes=m,
            after_last_ms=time(p, m),
            limit_ms=None,
            network=COSTS,
        )
        for p in ranks
        for m in sizes
        for delay in delays
        for name in names
    ]


def drawn(rows):
    with style.styled():
        figure = scaling.figure(rows)
        plot._title(figure, rows)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            figure.draw_without_rendering()
    return figure


def shown(figure):
    return [axes for axes in figure.axes if axes.axison]


def labelled(axis):
    low, high = axis.get_view_interval()
    ticks = zip(axis.get_majorticklocs(), axis.get_majorticklabels(), strict=True)
    return [place for place, label in ticks if low <= place <= high and label.get_text()]


def look(one):
    """The properties that tell a line apart."""
    return to_hex(one["color"]), str(one.get("linestyle")), one.get("marker")


def test_all_panels_have_the_same_kind_of_axis():
    flat_and_steep = sweep(sizes=(64, 128), time=lambda p, m: p if m == 64 else 3 + p / 100)
    assert {axes.get_yscale() for axes in shown(drawn(flat_and_steep))} == {"linear"}
    steeper = sweep(sizes=(64, 128), time=lambda p, m: p**2 if m == 64 else 5 + p / 100)
    assert {axes.get_yscale() for axes in shown(drawn(steeper))} == {"log"}


@pytest.mark.parametrize("seed", range(200))
def test_logarithmic_axes_have_two_ticks_at_least(seed):
    source = random.Random(seed)
    low, factor = 10 ** source.uniform(-4, 4), 10 ** source.choice([0, source.uniform(0, 6)])
    ticks = scaling._log_ticks(low / 1.25, 1.15 * low * factor)
    assert len(ticks) >= 2
    assert all(low / 1.25 <= tick <= 1.15 * low * factor for tick in ticks)
    assert all(a < b for a, b in pairwise(ticks))


def test_ticks_are_labelled_in_flat_panels_too():
    rows = sweep(sizes=(64, 128), time=lambda p, m: p**2 if m == 64 else 5 + p / 100)
    for axes in shown(drawn(rows)):
        assert len(labelled(axes.yaxis)) >= 2


@pytest.mark.parametrize(
    ("ranks", "scale", "ticks"),
    [
        ((2, 4, 8, 16), "log", [2, 4, 8, 16]),
        ((2, 6, 18), "log", [2, 6, 18]),
        ((2, 3, 4, 5), "linear", None),
        (tuple(range(2, 65)), "log", [2, 4, 8, 16, 32, 64]),
        ((4, 8), "linear", None),
    ],
)
def test_what_was_multiplied_has_a_logarithmic_axis(ranks, scale, ticks):
    (axes,) = shown(drawn(sweep(ranks=ranks)))
    assert axes.get_xscale() == scale
    assert ticks is None or labelled(axes.xaxis) == ticks


@pytest.mark.parametrize("seed", range(20))
def test_an_algorithm_looks_the_same_in_whatever_company(seed):
    source = random.Random(seed)
    names = source.sample(NAMES, source.randint(1, len(NAMES)))
    alone = {name: look(style.looks({name: name})[name]) for name in names}
    together = {name: look(one) for name, one in style.looks({n: n for n in names}).items()}
    assert alone == together


@pytest.mark.parametrize("seed", range(20))
def test_no_two_lines_look_alike(seed):
    source = random.Random(seed)
    names = source.choices([*NAMES, "unknown"], k=source.randint(0, 100))
    yardsticks = ("native", "ring")  # have no parameters
    labels = {f"{name} {i}": name for i, name in enumerate(names) if name not in yardsticks}
    found = style.looks(labels | {name: name for name in yardsticks})
    assert len(set(map(look, found.values()))) == len(found) == len(labels) + 2


def test_later_lines_are_thinner_and_above():
    found = list(
        style.looks({name: name for name in NAMES if name not in ("native", "ring")}).values()
    )
    for one, other in pairwise(found):
        assert one["linewidth"] > other["linewidth"]
        assert one["zorder"] < other["zorder"]


def test_long_lines_keep_their_markers():
    (axes,) = shown(drawn(sweep(["circulant"], ranks=range(2, 90))))
    assert axes.lines[0].get_marker() not in (None, "None", "")


def test_titles_tell_the_delay_of_each_panel():
    figure = drawn(sweep(delays=(0.0, 5.0)))
    assert "onelate, delays 0, 5 ms:" in figure.get_suptitle()
    titles = [axes.get_title(loc="left") for axes in shown(figure)]
    assert titles == ["64 B, all arrive together", "64 B, onelate, delay 5 ms"]
    assert "onelate, delay 5 ms:" in drawn(sweep()).get_suptitle()


def test_title_and_footer_stay_inside_of_the_picture():
    figure = drawn(sweep())
    for text in (figure._suptitle, figure._supxlabel):
        assert text.get_window_extent().x1 <= figure.bbox.x1
    assert "burst=0" in figure.get_supxlabel()


def test_five_panels_leave_no_empty_axes():
    figure = drawn(sweep(ranks=range(2, 9), sizes=[64 << each for each in range(5)]))
    assert (len(figure.axes), len(shown(figure))) == (6, 5)


def test_times_of_nothing_are_drawn():
    figure = drawn(sweep(time=lambda _ranks, _size: 0.0))
    assert shown(figure)


def test_a_limit_that_is_not_known_is_not_drawn():
    assert curves._limits([[row("ring", limit_ms=None)]]) == []
    assert curves._limits([[row("ring", limit_ms=2.0)]]) == [(5.0, 2.0)]
