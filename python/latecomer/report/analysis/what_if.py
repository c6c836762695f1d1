"""What a traced run would have taken: with other algorithms, less lateness, a faster network.

The graph of the job is gone through again: computation stays, and each call ends when what it waits
for has come and as much later as it did. Collectives are simulated where their algorithm or network
is another, and those of latecomer, which use the arrivals, where computation is. Answers are
differences to the same calls simulated as they were: what the simulator does not know is no gain.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...base.arrays import Floats
from ...base.units import seconds as times
from ..trace.model import Trace, ranks_said
from .collectives import CallClass, Collectives
from .graph import Graph, graph_of
from .simulated import AS_IT_WAS, AUTO, NATIVE, Executes, Simulator
from .wording import FLOOR, TRUSTED, percent

# Of Graph.replay(): begin, until, ahead (ranks,), waiting, moving; and where stretches are.
Stretch = tuple[float, float, Floats, float, float]
Places = tuple[tuple[int, int], ...]

_FEWEST = 24  # calls that a replay needs
_OTHER_TASKS = "it takes longer, since ranks wait for what only some of them compute"
_TOO_SLOW = "simulated calls take far longer than those of the run"


@dataclass(frozen=True)
class Replayed:
    """What a run takes."""

    seconds: float
    error: float  # its standard error, from the differences of the stretches; 0: all was replayed
    calls: int  # collectives that were replayed
    waiting: float  # mean over the ranks, of the whole run
    moving: float
    after_last: dict[CallClass, float]  # seconds: mean exit minus last arrival, mean over the calls


@dataclass(frozen=True)
class Scenario:
    """A question."""

    name: str
    algorithm: str = AS_IT_WAS  # of the calls that latecomer would handle
    lateness: float = 1.0  # the part of the imbalance of computation that stays
    speed: float = 1.0  # of the network, as a multiple of what it was
    ranks: tuple[int, ...] = ()  # which compute no longer than the median rank

    @property
    def computed(self) -> bool:
        """True if computation is another, and nothing else."""
        changed = self.lateness != 1 or bool(self.ranks)
        return changed and self.algorithm == AS_IT_WAS and self.speed == 1

    @property
    def kind(self) -> str:
        """Which of the chief questions this is: "balance", "algorithm", "network", "ranks"; or
        "part"."""
        if self.ranks:
            return "ranks"
        if self.algorithm == AS_IT_WAS:
            only = (self.lateness, self.speed)
            return {(0.0, 1.0): "balance", (1.0, 2.0): "network"}.get(only, "part")
        return "algorithm" if self.lateness == self.speed == 1 else "part"


@dataclass(frozen=True)
class Answer:
    """What the run would have taken."""

    scenario: Scenario
    replayed: Replayed | None  # None: not told
    remark: str = ""


@dataclass(frozen=True)
class Efficiency:
    """Parts of 1, as POP defines them: the product of the last three is the first.

    https://pop-coe.eu/node/69
    """

    parallel: float  # computation, of the time of all ranks
    load_balance: float  # computation of the mean rank over that of the busiest one
    serialisation: float  # ... of that rank over the run, if nothing took time but waiting
    transfer: float  # ... of that run over the run as it was

    def said(self) -> str:
        """As in "Parallel efficiency 62 %: load balance 80 %, serialisation 90 %, ..."."""
        parts = ("load balance", self.load_balance), ("serialisation", self.serialisation), \
            ("transfer", self.transfer)  # fmt: skip
        told = ", ".join(f"{name} {percent(part)}" for name, part in parts)
        return f"Parallel efficiency {percent(self.parallel)}: {told}"


def efficiency(graph: Graph) -> Efficiency:
    """That of the run until its last call: behind it nobody knows who computes, and who waits."""
    computed = graph.computed.sum(axis=0)[graph.present]
    first = np.fmin(graph.trace.begin, graph.events.begin.min(initial=np.inf)).min()
    run = max(float(graph.last.max() - first), 1e-300)
    busiest, mean = float(computed.max(initial=0.0)), float(computed.sum()) / max(len(computed), 1)
    ideal = max(run - graph.saved(None, 0.0) / graph.times, busiest, 1e-300)
    return Efficiency(mean / run, mean / busiest if busiest else 1.0, busiest / ideal, ideal / run)


@dataclass(frozen=True)
class WhatIf:
    """All answers about a trace."""

    measured: float  # seconds: the run
    # The same algorithms simulated: how right the simulator is. None: it took too long.
    repeated: Replayed | None
    answers: list[Answer]
    network: str  # costs before fitting, and their source
    known: bool  # these are the costs of the traced run
    factors: dict[CallClass, float]  # by which these were multiplied
    calls: int  # of the trace that are known on all their ranks
    efficiency: Efficiency
    sample: float  # the part of the run that stands for the whole
    unclear: tuple[float, str]  # as Graph.unclear
    handled: bool = False  # latecomer carried out some of them

    @property
    def simulator_error(self) -> float:
        """The repeated run's time, as a part of the measured, minus 1; infinite: not known."""
        if self.repeated is None or self.measured <= 0:
            return np.inf
        return self.repeated.seconds / self.measured - 1

    @property
    def trusted(self) -> bool:
        """Tell whether the run is known, and repeated by the simulator, well enough for its other
        answers to count."""
        return max(abs(self.simulator_error), self.unclear[0]) <= TRUSTED


def what_if(
    trace: Trace,
    run_seconds: float,
    *,
    graph: Graph | None = None,
    late: Sequence[int] = (),
    network: str = "",
    source: str = "built in",
    known: bool = False,
    assumed: str = "",
    native: str = "openmpi-4.1",
    seconds: float = 3.0,
    only: tuple[str, ...] | None = None,
    report: Callable[[str], None] = lambda _: None,
) -> WhatIf:
    """Answer the usual questions, the chief ones first, or only those about algorithms in `only`.

    `graph` is that of the trace; None: it is made. `late` are ranks that are asked about.
    `network` holds costs. If they are `known` to be those of the traced run, only the model of the
    MPI library, `native`, is fitted to the trace; else the costs are. `assumed` holds the costs
    that the library plans with, which need not be those. About `seconds` are spent: long traces
    are represented by stretches. Raises ValueError.
    """
    collectives = Collectives(graph or graph_of(trace))
    simulator = Simulator(collectives, network, known, assumed, native)
    replay = Replay(simulator, run_seconds)
    asked = [Scenario(AS_IT_WAS), *_scenarios(simulator, only, late)]
    until, share = time.monotonic() + seconds, seconds / (len(asked) + 1)
    report("network")
    simulator.fit(share)
    answers = []
    for scenario in asked:
        report(scenario.name)
        answers.append(replay.answer(scenario, share, until))
    repeated = answers.pop(0).replayed
    return WhatIf(
        run_seconds,
        repeated,
        answers,
        f"{simulator.network.text} ({source})",
        known,
        simulator.factors,
        len(collectives),
        efficiency(collectives.graph),
        1 / collectives.graph.times,
        collectives.graph.unclear,
        simulator.handled,
    )


def distrust(answers: WhatIf) -> str:
    """Why nothing is told."""
    if answers.repeated is None:
        return "Not told what would save time: there was none to simulate the run as it was; set " \
            "--budget to more."  # fmt: skip
    part, why = answers.unclear
    if part > TRUSTED:
        return f"Not told what would save time: ranks are for {percent(part)} of their time {why}."
    costs = "" if answers.known else "; costs of the network that calibrate measured may help"
    return (
        f"Not told what would save time: the same algorithms simulated take "
        f"{times(answers.repeated.seconds)}, the run took {times(answers.measured)}, and more than "
        f"{percent(TRUSTED)} off the other answers are not to be trusted{costs}."
    )


def baseline(answers: WhatIf, mpi: str = "") -> str:
    """What the answers are compared with; `mpi`: the library's name, if it is known."""
    if answers.handled:
        return "this run, with latecomer"
    return f"this run, with {mpi}" if mpi else "this run"


def label(answer: Answer) -> str:
    """The name of a chief answer."""
    name = answer.scenario.name
    return f"best algorithm: {name}" if answer.scenario.kind == "algorithm" else name


def by_gain(answers: WhatIf) -> list[Answer]:
    """The shortest run first; those that are not told last."""
    return sorted(answers.answers, key=lambda a: a.replayed.seconds if a.replayed else np.inf)


def chief(answers: WhatIf) -> list[Answer]:
    """Those that matter, the shortest run first: late ranks, balance, an algorithm, a network."""
    found: dict[str, Answer] = {}
    for answer in by_gain(answers):
        found.setdefault(answer.scenario.kind, answer)
    return [answer for answer in found.values() if answer.scenario.kind != "part"]


def _scenarios(
    simulator: Simulator, only: tuple[str, ...] | None, late: Sequence[int]
) -> Iterator[Scenario]:
    """The chief ones first: there may be no time for all."""
    if only is not None:
        yield from (Scenario(name, name) for name in only)
        return
    if late:
        name = f"{ranks_said(late)} no slower than the median rank"
        yield Scenario(name, ranks=tuple(late))
    yield Scenario("perfect balance", lateness=0.0)
    yield Scenario("a network twice as fast", speed=2.0)
    if simulator.simulated and not simulator.trace.of_device:
        yield Scenario("the MPI library's own algorithms", NATIVE)
        yield Scenario("latecomer, automatic choice", AUTO)
        yield from (Scenario(name, name) for name in simulator.suitable())
        yield Scenario("automatic choice, and a network twice as fast", AUTO, speed=2.0)
    yield Scenario("half the lateness", lateness=0.5)


class Replay:
    """Goes through the graph again, with some collectives simulated."""

    def __init__(self, simulator: Simulator, run_seconds: float) -> None:
        self.simulator, self.run_seconds = simulator, run_seconds
        self.collectives = simulator.collectives
        self.graph = self.collectives.graph
        self._known: dict[tuple[Places, tuple[int, ...]], list[Stretch]] = {}

    def answer(self, scenario: Scenario, seconds: float, until: float = np.inf) -> Answer:
        """With about so much effort, if it is not later than `until`, of time.monotonic()."""
        changed = scenario.lateness != 1 or scenario.speed != 1 or bool(scenario.ranks)
        whole = len(self.collectives)
        try:
            if scenario.computed and not self.simulator.handled:
                return self._useful(scenario, self.run(scenario, whole, changed=changed))
            each = self.simulator.cost(scenario.algorithm, changed=changed,
                                       computed=scenario.computed)  # fmt: skip
            calls = int(seconds / each)
            few = calls < min(_FEWEST, whole)
            if time.monotonic() > until or (few and each * _FEWEST > 4 * seconds):
                more = max(each * _FEWEST, seconds) * 10
                return Answer(scenario, None, f"needs more time: --budget {more:.0f}")
            if calls < whole:  # as many for several questions: what is replayed is replayed once
                calls = max(_FEWEST, 1 << calls.bit_length() - 1)
            found = self.run(scenario, calls, changed=changed)
            # A difference between simulations that take longer than the run.
            return self._useful(scenario, found)
        except (ValueError, RuntimeError) as error:
            return Answer(scenario, None, str(error))

    def _useful(self, scenario: Scenario, found: Replayed) -> Answer:
        if found.seconds < 0:
            return Answer(scenario, None, _TOO_SLOW)
        longer = found.seconds > (1 + FLOOR) * self.run_seconds + 2 * found.error
        if longer and scenario.computed and not scenario.ranks:
            return Answer(scenario, None, _OTHER_TASKS)
        return Answer(scenario, found)

    def run(self, scenario: Scenario, calls: int, *, changed: bool) -> Replayed:
        """Replay about so many calls."""
        stretches = self.collectives.stretches(calls)
        places = tuple(self._places(stretches))
        events: dict[int, int] = {}  # that are simulated, and the first of the stretch
        others: list[int] = []
        measured: dict[CallClass, list[float]] = defaultdict(list)
        for (first, last), (begin, end) in zip(stretches, places, strict=True):
            for event in range(first, last):
                if self._algorithm(scenario, event, changed=changed) is None:
                    others.append(event)
                    continue
                left_at = self.graph.left_at[self.collectives.members(event)]
                if left_at.min() >= begin and left_at.max() < end:
                    events[event] = first
        for event, (_, arrival, leave) in zip(others, self.collectives.measured(others),
                                              strict=True):  # fmt: skip
            late = float(leave.mean() - arrival.max())
            measured[self.collectives.classes[event]].append(late)
        found, after = self._gone_through(scenario, places, events, changed=changed)
        if events and changed | (scenario.algorithm != AS_IT_WAS):
            was = self._as_it_was(places, events)
            found = [(begin, until, ahead - ahead_too, known, unknown)
                     for (begin, until, ahead, known, unknown), (_, _, ahead_too, *_)
                     in zip(found, was, strict=True)]  # fmt: skip
        replayed = sum(end - begin for begin, end in stretches)
        means = {each: float(np.mean(times)) for each, times in (measured | after).items()}
        return self._told(found, replayed, means)

    def _as_it_was(self, places: Places, events: Mapping[int, int]) -> list[Stretch]:
        """With these calls simulated, and nothing else."""
        key = places, tuple(events)
        if key not in self._known:
            self._known[key], _ = self._gone_through(
                Scenario(AS_IT_WAS), places, events, changed=False
            )
        return self._known[key]

    def _gone_through(
        self, scenario: Scenario, places: Places, events: Mapping[int, int], *, changed: bool
    ) -> tuple[list[Stretch], dict[CallClass, list[float]]]:
        """The stretches with these calls simulated, and what these took after the last arrival."""
        after: dict[CallClass, list[float]] = defaultdict(list)
        made: dict[tuple[CallClass, str], Executes] = {}
        how: list[tuple[CallClass, int, int, Executes]] = []
        links = self.simulator.links(scenario.speed)
        anew = [self.collectives.members(event) for event in events]
        for event, first in events.items():
            call_class = self.collectives.classes[event]
            algorithm = self._algorithm(scenario, event, changed=changed)
            key = call_class, algorithm or NATIVE
            if key not in made:
                made[key] = self.simulator.executor(*key, scenario.speed)
            how.append((call_class, event, first, made[key]))

        def exits(number: int, arrivals: Sequence[float]) -> list[float]:
            call_class, event, first, execute = how[number]
            came = np.array(arrivals)
            ranks = self.collectives.trace.groups[call_class.group].members
            links.rest(first)
            links.ahead[ranks] = self.graph.events.begin[anew[number]] - came
            links.before(event, came.min())
            left = execute(came, links)
            after[call_class].append(float(left.mean() - came.max()))
            times: list[float] = left.tolist()
            return times

        found = self.graph.replay(
            self._less(scenario), 1 / scenario.speed, stretches=places,
            anew=anew, exits=exits,
        )  # fmt: skip
        return found, after

    def _algorithm(self, scenario: Scenario, event: int, *, changed: bool) -> str | None:
        return self.simulator.algorithm(scenario.algorithm, event, changed=changed,
                                        computed=scenario.computed)  # fmt: skip

    def _less(self, scenario: Scenario) -> Floats | None:
        if scenario.ranks:
            return self.graph.without(scenario.ranks)
        return self.graph.nearer(1 - scenario.lateness) if scenario.lateness != 1 else None

    def _places(self, stretches: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        """Where stretches of collectives are in the order of the job."""
        if stretches == [(0, len(self.collectives))]:
            return [(0, self.graph.length)]
        found, before = [], 0
        for first, last in stretches:
            # Behind its first call, so that the computation before the second one is in it.
            begin = max(before, self._ended(first) if first else 0)
            before = max(begin, *(self._ended(each) for each in range(first, last)))
            found.append((begin, before))
        return found

    def _ended(self, event: int) -> int:
        """The place in the order behind a collective."""
        return int(self.graph.left_at[self.collectives.members(event)].max()) + 1

    def _told(
        self, found: Sequence[Stretch], calls: int, means: dict[CallClass, float]
    ) -> Replayed:
        """The whole run by its stretches. Each stands for the time until the next one begins."""
        ranks = self.collectives.trace.ranks
        if len(found) == 1:
            _, _, ahead, waiting, moving = found[0]
            seconds, each = self.run_seconds - self.graph.earlier(ahead), self.graph.times / ranks
            return Replayed(seconds, 0.0, calls, waiting * each, moving * each, means)
        begins = np.array([each[0] for each in found])
        was = np.maximum([until - begin for begin, until, *_ in found], 1e-12)
        weight = np.maximum(np.diff(begins, append=self.graph.last.mean()), 1e-12)
        weight *= self.graph.times
        ratio = 1 - np.array([ahead.mean() for _, _, ahead, *_ in found]) / was
        later = ratio[1:]  # the first one is the beginning, not a sample
        error = later.std(ddof=1) / np.sqrt(len(later)) * weight.sum() if len(later) > 1 else 0.0
        waiting, moving = (float((np.array(sums) * weight / was).sum()) / ranks
                           for sums in zip(*(each[3:] for each in found), strict=True))  # fmt: skip
        seconds = self.run_seconds + float(((ratio - 1) * weight).sum())
        return Replayed(seconds, float(error), calls, waiting, moving, means)
