"""What a traced run would have taken: with other algorithms, less lateness, a faster network.

Calls are simulated by the code that MPI programs run, forecasts and choices included. The costs of
the network, where they are not known, are fitted to the trace for each class of calls: simulated,
its algorithm then takes as long after the last arrival as was measured.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..core.compiled import core
from ..core.native_choices import MODELLED, MODELS, Call
from ..core.programs import problem
from ..core.registry import algorithms, collectives
from ..trace.model import SERVED, Trace
from .replay import CallClass, Executes, Replay, Replayed
from .wording import percent
from .wording import seconds as times

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

NATIVE, AUTO, AS_IT_WAS = "native", "auto", "as it was"
TRUSTED = 0.1  # the simulator's error, as a part of the measured run: above it nothing is told
_SAMPLES = 15  # calls to fit a network by
_MOST_READ = 2000  # calls that a mean is taken of, ...
_MOST_TIMES = 1 << 18  # ... with so many times
_ROUNDS = 3  # of fitting
_FEW = 3  # calls that costs can be fitted to
_PER_OPERATION = 2e-6  # seconds of simulating; about
_FEWEST = 24  # calls that a replay needs
_SLOW_ABOVE = 32  # ranks: protocols take long
_LEFT_OUT = ("native", "auto", "nodes", "fastest", "linear_tree", "linear_sync", "linear")
_MIN_BYTES = 1024  # shorter vectors are left to the MPI library


@dataclass(frozen=True)
class Scenario:
    """A question."""

    name: str
    algorithm: str = AS_IT_WAS  # of the calls that latecomer would handle
    lateness: float = 1.0  # the part of the imbalance of computation that stays
    speed: float = 1.0  # of the network, as a multiple of what it was

    @property
    def kind(self) -> str:
        """Which of the chief questions this is: "balance", "algorithm", "network"; or "part"."""
        if self.algorithm == AS_IT_WAS:
            only = (self.lateness, self.speed)
            return {(0.0, 1.0): "balance", (1.0, 2.0): "network"}.get(only, "part")
        return "algorithm" if self.lateness == self.speed == 1 else "part"


@dataclass(frozen=True)
class Answer:
    """What the run would have taken."""

    scenario: Scenario
    replayed: Replayed | None  # None: not simulated
    remark: str = ""


@dataclass(frozen=True)
class WhatIf:
    """All answers about a trace."""

    measured: float  # seconds: the run
    repeated: Replayed  # the same algorithms simulated: how right the simulator is
    answers: list[Answer]
    network: str  # costs before fitting, and their source
    known: bool  # these are the costs of the traced run
    factors: dict[CallClass, float]  # by which these were multiplied
    calls: int  # of the trace that are known on all their ranks
    handled: bool = False  # latecomer carried out some of them

    @property
    def simulator_error(self) -> float:
        """The repeated run's time, as a part of the measured, minus 1."""
        return self.repeated.seconds / self.measured - 1

    @property
    def trusted(self) -> bool:
        """Tell whether the simulator repeats the run well enough for its other answers to count."""
        return abs(self.simulator_error) <= TRUSTED


def what_if(
    trace: Trace,
    run_seconds: float,
    *,
    network: str = "",
    source: str = "built in",
    known: bool = False,
    assumed: str = "",
    native: str = "openmpi-4.1",
    seconds: float = 3.0,
    only: tuple[str, ...] | None = None,
    report: Callable[[str], None] = lambda _: None,
) -> WhatIf:
    """Answer the usual questions, or only those about the algorithms in `only`.

    `network` holds costs. If they are `known` to be those of the traced run, only the model of the
    MPI library, `native`, is fitted to the trace; else the costs are. `assumed` holds the costs
    that the library plans with, which need not be those. About `seconds` are spent: long traces
    are represented by stretches. Raises ValueError.
    """
    replay = Replay(trace, run_seconds)
    simulator = _Simulator(replay, network, known, assumed, native)
    asked = list(_scenarios(simulator, only))
    share = seconds / (len(asked) + 2)
    report("network")
    simulator.fit(share)
    own = Scenario(AS_IT_WAS)
    repeated = simulator.answer(own, share).replayed or Replayed(run_seconds, 0.0, 0, 0.0, 0.0, {})
    answers = []
    for scenario in asked:
        report(scenario.name)
        answers.append(simulator.answer(scenario, share))
    return WhatIf(
        run_seconds,
        repeated,
        answers,
        f"{simulator.network.text} ({source})",
        known,
        simulator.factors,
        len(replay),
        simulator.handled,
    )


def distrust(answers: WhatIf) -> str:
    """Why nothing is told."""
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
    """The shortest run first; those that were not simulated last."""
    return sorted(answers.answers, key=lambda a: a.replayed.seconds if a.replayed else np.inf)


def chief(answers: WhatIf) -> list[Answer]:
    """The three that matter, the shortest run first: balance, an algorithm, a faster network."""
    found: dict[str, Answer] = {}
    for answer in by_gain(answers):
        found.setdefault(answer.scenario.kind, answer)
    return [answer for answer in found.values() if answer.scenario.kind != "part"]


def _scenarios(simulator: _Simulator, only: tuple[str, ...] | None) -> Iterator[Scenario]:
    if only is not None:
        for name in only:
            yield Scenario(name, name)
        return
    yield Scenario("the MPI library's own algorithms", NATIVE)
    yield Scenario("latecomer, automatic choice", AUTO)
    for name in simulator.suitable():
        yield Scenario(name, name)
    yield Scenario("perfect balance", lateness=0.0)
    yield Scenario("half the lateness", lateness=0.5)
    yield Scenario("a network twice as fast", speed=2.0)
    yield Scenario("automatic choice, and a network twice as fast", AUTO, speed=2.0)


class _Simulator:
    """Calls of a trace on the virtual network."""

    def __init__(
        self, replay: Replay, network: str, known: bool, assumed: str, native: str
    ) -> None:
        self.replay, self.trace, self.native, self.known = replay, replay.trace, native, known
        self.network, self.assumed = core.Network(network), core.Network(assumed)
        self.nodes = _nodes(self.trace)
        self.factors: dict[CallClass, float] = {}  # of the library's calls
        self.own_factors: dict[CallClass, float] = {}  # of latecomer's
        self.own: dict[CallClass, str] = {}
        self.members: dict[CallClass, list[int]] = {}
        for event, each in enumerate(replay.classes):
            self.members.setdefault(each, []).append(event)
        at_latecomer = SERVED.index("latecomer")
        self.handled = any(
            bool((group.served == at_latecomer).any()) for group in self.trace.groups
        )
        self.simulated = [each for each in self.members if self._usable(each)]

    def _usable(self, each: CallClass) -> bool:
        known = collectives()
        name = _row(each.collective)
        if name not in known or each.bytes <= 0:
            return False
        return each.root >= 0 or not known[name].rooted

    # ---- the costs

    def fit(self, seconds: float) -> None:
        """The factors of each class: simulated as it was, it takes what was measured.

        Calls of the MPI library and those of latecomer have one each, if there are such.
        """
        until = time.perf_counter() + seconds
        for each in sorted(self.simulated, key=lambda each: -len(self.members[each])):
            by_library, handled = self._by_server(each)
            try:
                other = self._typical()
                native = self._fitted(each, NATIVE, by_library, until) if by_library else None
                own = (
                    None
                    if self.known or not handled
                    else self._fitted(each, self._own(each), handled, until)
                )
            except (ValueError, RuntimeError):  # no algorithm takes the problem
                continue
            self.factors[each] = native or own or other
            self.own_factors[each] = (
                min(native or 1.0, 1.0) if self.known else own or native or other
            )

    def _by_server(self, each: CallClass) -> tuple[list[int], list[int]]:
        """Some events that the MPI library executed, and some of latecomer's."""
        most = min(_MOST_READ, max(_SAMPLES, _MOST_TIMES // self.trace.groups[each.group].size))
        some = self.members[each][:: max(1, len(self.members[each]) // most)]
        native = [event for event in some if self._served(event) == NATIVE]
        handled = [event for event in some if self._served(event) != NATIVE]
        return (native if len(native) >= _FEW else []), (handled if len(handled) >= _FEW else [])

    def _factor(self, each: CallClass, algorithm: str) -> float:
        """What the costs are multiplied by.

        If the network is known, a library's collective that is slower than its costs say has
        itself to blame, not the network. One that is faster shows that they are too high.
        """
        return (self.factors if algorithm == NATIVE else self.own_factors)[each]

    def _typical(self) -> float:
        known = self.factors.values()
        return float(np.median(list(known))) if known and not self.known else 1.0

    def _fitted(
        self, each: CallClass, algorithm: str, events: list[int], until: float
    ) -> float | None:
        """None: there was no time."""
        places = np.unique(np.linspace(0, len(events) - 1, _SAMPLES, dtype=int))
        was = [arrival for _, arrival, _ in self.replay.some([events[place] for place in places])]
        took = np.mean([leave.mean() - arrival.max()
                        for _, arrival, leave in self.replay.some(events)])  # fmt: skip
        if took <= 0 or time.perf_counter() > until:
            return None
        factor = 1.0
        for _ in range(_ROUNDS):
            execute = self._executor(each, algorithm, factor)
            found = []
            for arrival in was:
                came = arrival - arrival.min()
                found.append(execute(came).mean() - came.max())
                if time.perf_counter() > until and len(found) > 1:
                    break
            factor *= float(np.clip(took / max(np.mean(found), 1e-9), 0.1, 10.0))
        return float(np.clip(factor, 1e-3, 1e3))

    def _costs(self, factor: float) -> core.Network:
        """The network with all times multiplied."""
        n = self.network
        text = f"alpha={n.alpha * factor}s,beta={n.beta * factor}s,gamma={n.gamma * factor}s"
        text += f",local_alpha={n.local_alpha * factor}s,local_beta={n.local_beta * factor}s"
        text += f",eager={n.eager_limit},buffer={n.buffer},handshake={n.handshake * factor}s"
        text += f",ports={n.ports},exchange={n.exchange},per_node={n.per_node},burst={n.burst}"
        if n.memory > 0:
            text += f",memory={n.memory * factor}s"
        return core.Network(text)

    # ---- the calls

    def _served(self, event: int) -> str:
        """The algorithm of a call as it was."""
        group, call = self.trace.groups[self.replay.groups[event]], self.replay.calls[event]
        if group.served[call] != SERVED.index("latecomer"):
            return NATIVE
        return self.trace.words[int(group.algorithm[call])].partition(":")[0]

    def _executor(self, each: CallClass, algorithm: str, factor: float) -> Executes:
        group = self.trace.groups[each.group]
        event = self.members[each][0]
        call = self.replay.calls[event]
        element = max(1, int(group.element_bytes[call]))
        count = max(1, each.bytes // element)
        operator = self.trace.words[int(group.operator[call])]
        name = _row(each.collective)
        asked = problem(
            collective=name,
            ranks=group.size,
            count=count,
            element_bytes=element,
            root=max(each.root, 0),
            commutative="ordered" not in operator,
        )
        model = self._model(name, group.size, count, element, asked.commutative)
        nodes = [self.nodes[rank] for rank in group.members]
        shared = nodes if len(set(nodes)) < len(nodes) else []
        costs = self._costs(factor)
        if algorithm == NATIVE:
            plan = core.Plan(asked, model, network=costs, placement=shared)
            return lambda came: np.array(plan.simulate(came.tolist())["exits"])
        if algorithm == "nodes" and not shared:
            algorithm = AUTO
        series = core.Rehearsal(asked, algorithm, costs, self.assumed, model, placement=shared)
        return lambda came: np.array(series.call(came.tolist())["exits"])

    def _model(self, name: str, ranks: int, count: int, element: int, commutative: bool) -> str:
        if name != MODELLED:
            return "fastest"
        if self.native not in MODELS:
            return self.native  # an algorithm
        return MODELS[self.native](Call(ranks, count, count * element, commutative))

    def suitable(self) -> list[str]:
        """The algorithms for the collective that takes the longest, the arrival-aware ones first.

        Those that are only fast without lateness are represented by the best of them.
        """
        cost: dict[str, float] = {}
        for each in self.simulated:
            some = self.members[each][:: max(1, len(self.members[each]) // 16)]
            spent = [leave.mean() - arrival.mean() for _, arrival, leave in self.replay.some(some)]
            cost[_row(each.collective)] = cost.get(_row(each.collective), 0.0) + float(
                np.mean(spent) * len(self.members[each])
            )
        if not cost:
            return []
        collective = max(cost, key=cost.__getitem__)
        rows = [row for row in algorithms(collective) if row.name not in _LEFT_OUT]
        if self.trace.ranks > _SLOW_ABOVE:
            rows = [row for row in rows if row.kind != "protocol"]
        aware = [row.name for row in rows if row.arrival_aware]
        plain = [name for name in ("ring", "rabenseifner", "binomial", "recursive_doubling")
                 if name in [row.name for row in rows]]  # fmt: skip
        return plain[:2] + aware

    # ---- a replay

    def answer(self, scenario: Scenario, seconds: float) -> Answer:
        """Replay with about so much effort."""
        try:
            each = self._cost(scenario)
        except (ValueError, RuntimeError) as error:
            return Answer(scenario, None, str(error))
        calls = int(seconds / each) if each > 0 else len(self.replay)
        if calls < _FEWEST and len(self.replay) > calls:
            if each * _FEWEST > 4 * seconds:
                more = each * _FEWEST * 10
                return Answer(scenario, None, f"needs more time: --budget {more:.0f}")
            calls = _FEWEST
        made: dict[tuple[CallClass, str], Executes] = {}

        def executes(call_class: CallClass, event: int) -> Executes | None:
            algorithm = self._algorithm(scenario, call_class, event)
            if algorithm is None:
                return None
            key = (call_class, algorithm)
            if key not in made:
                factor = self._factor(call_class, algorithm) / scenario.speed
                made[key] = self._executor(call_class, algorithm, factor)
            return made[key]

        try:
            stretches = self.replay.stretches(calls)
            return Answer(scenario, self.replay.run(executes, stretches, scenario.lateness))
        except (ValueError, RuntimeError) as error:
            return Answer(scenario, None, str(error))

    def _algorithm(self, scenario: Scenario, call_class: CallClass, event: int) -> str | None:
        """That of a call; None: its exits follow the last arrival as they were measured."""
        if call_class not in self.factors:
            return None
        served = self._served(event)
        if scenario.algorithm == AS_IT_WAS:
            return NATIVE if served == NATIVE else self._own(call_class)
        short = call_class.bytes < _MIN_BYTES
        name = _row(call_class.collective)
        wanted = scenario.algorithm
        if short or (wanted not in (NATIVE, AUTO) and wanted not in _names(name)):
            wanted = NATIVE
        changed = scenario.lateness != 1 or scenario.speed != 1
        return None if wanted == served == NATIVE and not changed else wanted

    def _own(self, each: CallClass) -> str:
        """The algorithm by which latecomer executed a class: one that was set, or it chose."""
        if each not in self.own:
            some = self.members[each][:: max(1, len(self.members[each]) // 50)]
            names = {self._served(event) for event in some} - {NATIVE}
            name = next(iter(names)) if len(names) == 1 else AUTO
            self.own[each] = name if name in _names(_row(each.collective)) else AUTO
        return self.own[each]

    def _cost(self, scenario: Scenario) -> float:
        """About the seconds that a call takes to simulate, by the programs' operations."""
        total = 0.0
        for each in self.factors:
            event = self.members[each][0]
            algorithm = self._algorithm(scenario, each, event)
            if algorithm is None:
                continue
            total += self._class_cost(each, algorithm) * len(self.members[each])
        return total / max(1, len(self.replay)) + 2e-5

    def _class_cost(self, each: CallClass, algorithm: str) -> float:
        group = self.trace.groups[each.group]
        element = max(1, int(group.element_bytes[self.replay.calls[self.members[each][0]]]))
        count = max(1, each.bytes // element)
        name = _row(each.collective)
        asked = problem(collective=name, ranks=group.size, count=count, element_bytes=element,
                        root=max(each.root, 0))  # fmt: skip
        model = self._model(name, group.size, count, element, True)
        word = model if algorithm in (NATIVE, AUTO) else algorithm
        plan = core.Plan(asked, word, network=self.network)
        slow = 4 if plan.decides_while_it_runs else 1.5 if algorithm == AUTO else 1
        return plan.about_operations() * _PER_OPERATION * slow


def _nodes(trace: Trace) -> list[int]:
    """The node of each rank, by its host."""
    places = {host: number for number, host in enumerate(dict.fromkeys(trace.hosts))}
    return [places[host] for host in trace.hosts]


def _row(collective: str) -> str:
    """The registry's name."""
    return "allgather" if collective == "allgatherv" else collective


def _names(collective: str) -> frozenset[str]:
    known = collective in collectives()
    return frozenset(row.name for row in algorithms(collective)) if known else frozenset()
