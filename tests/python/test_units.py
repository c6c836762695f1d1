"""Amounts for people: one function for all durations."""

import json
import math
import os
import re
import time
from pathlib import Path

import numpy as np
import pytest
from latecomer.base import pages
from latecomer.base.errors import UserError
from latecomer.base.units import seconds, span
from latecomer.core import networks
from latecomer.report.analysis import page, sections
from latecomer.report.analysis.cut import analysed, between
from latecomer.report.analysis.wording import seconds_beside
from latecomer.report.trace import Words
from latecomer.report.trace.about import About
from page_helpers import dumped, needs_browser
from trace_helpers import arrivals_and_exits, group_of, made_up, trace_of

MICRO = "\N{MICRO SIGN}s"


@pytest.mark.parametrize(("value", "shown"), [
    (0.0, "0 s"), (1e-13, "0 s"), (1e-10, "0.1 ns"), (-2.5e-7, "-250 ns"), (1.27e-6, f"1.27 {MICRO}"),
    (999.4e-6, f"999 {MICRO}"), (999.6e-6, "1 ms"), (-0.04, "-40 ms"), (0.99997, "1 s"), (0.9996, "0.9996 s"),
    (1.2345, "1.234 s"), (9999.4, "9999 s"), (9999.6, "10,000 s"), (56660.4, "56,660 s"),
    (math.inf, "not known"), (-math.inf, "not known"), (math.nan, "not known"),
])  # fmt: skip
def test_times_are_for_people(value, shown):
    assert seconds(value) == shown


SECONDS = """<script type="application/json" id="data">VALUES</script><pre id="said"></pre><script>
DRAWING
document.getElementById("said").textContent = JSON.stringify(data.map(seconds));
</script>"""


@needs_browser
def test_pages_round_as_the_text_does(tmp_path):
    rng = np.random.default_rng(1)
    values = [0.0, 1e-13, 1e-10, 999.6e-6, 0.99997, 0.9996, 1234.6, 9999.4, 9999.6, 56660.4, 3e5,
              *(rng.choice([-1, 1], 500) * 10 ** rng.uniform(-12, 6, 500)).tolist()]  # fmt: skip
    drawing = (Path(pages.__file__).parent / "drawing.js").read_text()
    text = SECONDS.replace("VALUES", json.dumps(values)).replace("DRAWING", drawing)
    said = re.search(r'<pre id="said">(.*?)</pre>', dumped(text, tmp_path))[1]
    assert json.loads(said) == [seconds(value) for value in values]


def test_more_digits_round_to_the_next_unit_as_well():
    assert seconds(0.012345, 4) == "12.35 ms"
    assert seconds(0.99994, 4) == "999.9 ms"
    assert seconds(0.99997, 4) == "1 s"


@pytest.mark.parametrize("digits", [3, 4])
def test_no_time_is_a_thousand_of_its_unit(digits):
    for value in np.random.default_rng(1).uniform(0.99, 1.01, 1000):
        for scale in (1e-6, 1e-3, 1.0):
            number = float(seconds(value * scale, digits).split()[0])
            assert 0.99 <= number < 1000


@pytest.mark.parametrize(("value", "shown"), [
    (-1, "0 s"), (14.4, "14 s"), (99.4, "99 s"), (100, "1.7 min"), (180, "3 min"), (599, "10 min"),
    (5900, "98 min"), (6000, "1.7 h"), (360000, "100.0 h"),
])  # fmt: skip
def test_spans_are_for_people(value, shown):
    assert span(value) == shown


def test_a_time_beside_another_is_in_its_unit():
    assert seconds_beside(0.0123, 2.0) == "0.0123 s"
    assert seconds_beside(2e-3, 3e-3) == "2 ms"


def test_costs_and_times_have_one_word_for_microseconds():
    assert networks.brief("alpha=50us").startswith(f"alpha {seconds(50e-6)}, ")


def without_arrivals(calls):
    """A trace in which no arrival in these calls is known."""
    words = Words()
    group = group_of(*arrivals_and_exits(40, 3), words)
    group.arrival[calls] = np.nan
    return trace_of([group], words)


def test_ends_of_a_picture_without_a_known_arrival_say_so():
    found = analysed(without_arrivals([0, -1]), skip=0)
    ends = sections.curves(found.groups[0])["ends"]
    assert ends == ["not known", "not known"]


@pytest.mark.parametrize("calls", [[-1], slice(None)])
def test_an_error_tells_the_last_arrival_that_is_known(calls):
    trace = without_arrivals(calls)
    last = 0.0 if calls == slice(None) else np.nanmin(trace.groups[0].arrival[-2])
    with pytest.raises(UserError, match=re.escape(f"the last one begins at {seconds(last)}")):
        between(trace, 50.0, 60.0)


def test_dates_are_utc_and_say_so(monkeypatch):
    monkeypatch.setitem(os.environ, "TZ", "Asia/Tokyo")
    time.tzset()
    try:
        title = page.title(analysed(made_up()), About(started=1.7e9))
    finally:
        monkeypatch.undo()
        time.tzset()
    assert title.endswith(", 14 Nov 2023, 22:13 UTC")
