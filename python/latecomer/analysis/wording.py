"""Times, shares and findings for people."""

from __future__ import annotations

from ..trace.model import CONTROL
from .lateness import Lateness


def seconds(value: float) -> str:
    """As in "1.27 s", "40 ms", "3.1 \N{MICRO SIGN}s"."""
    size = abs(value)
    if size < 1e-9:
        return "0 s"
    if size >= 10_000:
        return f"{value:,.0f} s"
    if size >= 1:
        return f"{value:.4g} s"
    return f"{1e3 * value:.3g} ms" if size >= 1e-3 else f"{1e6 * value:.3g} \N{MICRO SIGN}s"


def percent(part: float) -> str:
    """As in "46 %", "0.3 %"."""
    value = 100 * part
    return f"{value:.0f} %" if abs(value) >= 10 or value == 0 else f"{value:.1f} %"


def plain(text: str) -> str:
    """Without control characters: names come from programs, and may act on a terminal."""
    return text.translate(CONTROL)


def _nothing_known(found: Lateness) -> bool:
    return found.incomplete > 0 and not found.ranks.calls.any()


def sentence(found: Lateness) -> str:
    """The first line of the report."""
    if _nothing_known(found):
        return (
            f"None of the {found.incomplete:,} calls is known on all its ranks, so nothing is said "
            "of waiting and of moving data."
        )
    text = (
        f"{percent(found.waiting_share)} of the time is waiting for late ranks, "
        f"{percent(found.moving_share)} moving data"
    )
    if not found.ranks.last.sum():
        return text + "."
    host = plain(found.trace.hosts[found.latest])
    return (
        f"{text}; rank {found.latest} on host {host} is last in {percent(found.latest_share)} of "
        "the calls."
    )


LITTLE = 0.05  # of the time: below it collectives do not matter
CLEAR = 2.0  # times as much as the other


def verdict(found: Lateness) -> str:
    """The classification; the rule is in the definitions."""
    if _nothing_known(found):
        return "Without calls that are known on all ranks nothing can be concluded."
    waiting, moving = found.waiting_share, found.moving_share
    if waiting + moving < LITTLE:
        return "Collectives take little of the time: whatever is done about them saves little."
    if waiting >= CLEAR * moving:
        return "Imbalance dominates: balancing the ranks' work would save the most."
    if moving >= CLEAR * waiting:
        return "Moving data dominates: a faster algorithm or network would save the most."
    return "Both matter: the imbalance of the ranks, and moving the data."


DEFINITIONS = (
    ("waiting", "From a rank's arrival in a call to the last rank's arrival, or to its own exit if "
     "it leaves before. Shares are sums over the ranks, as parts of the ranks' run times."),
    ("moving data", "From then to the rank's exit: transfers, combining, and what the algorithm "
     "makes a rank wait for after the last arrival."),
    ("lateness", "A rank's arrival minus the median arrival of the call; negative: early."),
    ("last in", "The share of a rank's calls in which it was the last one to arrive."),
    ("held up", "Time that the others would not have waited, had the rank arrived with the second "
     "last one: sum over the others."),
    ("correlation", "Whether a rank that is later than it is on average is so again in the next "
     "call: near 1 it is, near 0 these differences are noise."),
    ("the rule", f"Collectives below {percent(LITTLE)} of the time take little. Otherwise what "
     f"takes {CLEAR:g} times as much as the other dominates; else both matter."),
)  # fmt: skip
