"""Times and shares for people, and what the words mean."""

from __future__ import annotations

from ...base.printable import plain
from ...base.units import UNITS, seconds


def seconds_beside(value: float, other: float) -> str:
    """`value` in the unit of `other`, for a sentence that compares both."""
    unit, usual = seconds(other).split()[1], seconds(value)
    if usual.split()[1] == unit:
        return usual
    return f"{dict(UNITS)[unit] * value:.3g} {unit}"


def freed(slept: float) -> str:
    """The seconds that all ranks slept while they waited, as a sentence."""
    return f"Ranks that waited slept for {seconds(slept)}; their cores were free."


def percent(part: float) -> str:
    """As in "46 %", "0.3 %"."""
    value = 100 * part
    return f"{value:.0f} %" if abs(value) >= 10 or value == 0 else f"{value:.1f} %"


SAVED = (
    "saved: the part of the time of the run as it was that is not needed; below 0: it takes longer"
)


def saved(took: float, before: float, error: float = 0.0) -> str:
    """As in "+42 %", "-1.3 % ± 0.4": the part of `before` that is not needed."""
    text = f"{100 * (1 - took / before):+.1f} %" if before > 0 else "-"
    return f"{text} ± {100 * error / before:.1f}" if error and before > 0 else text


def change(took: float, before: float) -> str:
    """As in "saved +42 %" or "1.3 % longer"."""
    longer = 100 * (took / before - 1) if before > 0 else 0.0
    return f"{longer:.1f} % longer" if longer >= 0.05 else f"saved {saved(took, before)}"


def group_name(name: str, ranks: int) -> str:
    """As in "MPI_COMM_WORLD (4 ranks)"; "group 0 (4 ranks)" where the name is a number."""
    name = plain(name)
    if not name:
        name = "an unnamed communicator"
    elif name.isdigit():
        name = f"group {name}"
    return f"{name} ({ranks} ranks)"


INCOMPARABLE = "the clocks of some ranks are not comparable"
NON_BLOCKING = "non-blocking collectives"
BESIDE = "messages between two ranks, windows and files"  # not measured, whatever a program has

LITTLE = 0.05  # of the time: below it collectives do not matter
CLEAR = 2.0  # times as much as the other
SHARE = 0.2  # of all waiting: who costs the others less is not named
FLOOR = 0.01  # of the time of all ranks: who costs less is not named where messages are known
APART = 2.0  # times as much as the next one costs
# The simulator's error, as a part of the measured run, and the part of it of which nobody knows who
# waits: above it nothing is told of what would save time.
TRUSTED = 0.1


DEFINITIONS = (
    ("waiting", "From a rank's arrival in a call to the last arrival before it leaves. Nobody "
     "leaves an all-reduce before all have come, but a rank may have left a broadcast: it does not "
     "wait for those who come after. Shares are sums over the ranks, as parts of their run times; "
     "while one call of a rank moves data, another one's waiting does not count there."),
    ("moving data", "From then to the rank's exit: transfers, combining, and what the algorithm "
     "makes a rank wait for after the last arrival."),
    ("lateness", "A rank's arrival minus the median arrival of the call, or of two ranks, minus "
     "the other's arrival; negative: early."),
    ("last in", "The share of a rank's calls in which it was the last one to arrive. If two arrive "
     "last at the same instant, nobody was."),
    ("costs the others", "Between two arrivals a rank that is there waits for those that come "
     "later, but before it leaves; each of these is charged an equal part of that. All charges "
     "together are all waiting."),
    ("origin", "Where messages were traced, a rank's excess is its computation beyond the median "
     "rank's, between two collectives in which all ranks wait for each other. Waiting is charged "
     "to the excess by which the rank that is waited for is behind; what no excess explains is the "
     "order of the work."),
    ("who is late", f"Ranks that cost at least {percent(SHARE)} of all waiting, each {APART:g} "
     "times as much as any other; else a host whose ranks do so together; else nobody. Where "
     f"messages were traced, ranks that have at least {percent(SHARE)} of all excess, each "
     f"{APART:g} times as much as any other, and that are charged {percent(SHARE)} of what is "
     f"charged, and {percent(FLOOR)} of the time of all ranks. Each half of their computations, "
     "taken at random, must name them again, unless a single one has most of their excess."),
    ("parallel efficiency", "Computation, as a part of the time of all ranks until the last call: "
     "load balance (the mean rank's computation over the busiest one's) times serialisation (the "
     "busiest one's over the run, if nothing but waiting took time in MPI) times transfer (that "
     "run over the real one)."),
    ("held up", "Time that the others would not have waited, had the rank arrived with the second "
     "last one: sum over the others that waited for it."),
    ("correlation", "Near 1 a rank that is later than it is on average is so again in the next "
     "call; near 0 these differences are noise."),
    ("the rule", f"Collectives below {percent(LITTLE)} of the time take little. Otherwise what "
     f"takes {CLEAR:g} times as much as the other dominates; else both matter."),
)  # fmt: skip


def listed(words: list[str]) -> str:
    """As in "a, b and c"; `words` is not empty."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
