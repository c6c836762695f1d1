"""The collectives of a trace on the virtual network, by the code that MPI programs run.

Forecasts and choices are included. The costs of the network, where they are not known, are fitted
to the trace for each class of calls: simulated, its algorithm then takes as long after the last
arrival as was measured.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ...base.arrays import Floats
from ...core.compiled import core
from ...core.native_choices import MODELLED, MODELS, Call
from ...core.programs import problem
from ...core.registry import algorithms, collectives
from ..trace.model import SERVED, Trace
from .collectives import CallClass, Collectives
from .links import Links, Moves

# What a call takes: from its arrivals to its exits, on links that earlier calls have used.
Executes = Callable[[Floats, Links], Floats]

NATIVE, AUTO, AS_IT_WAS = "native", "auto", "as it was"
_SAMPLES = 15  # calls to fit a network by
_MOST_READ = 2000  # calls that a mean is taken of, ...
_MOST_TIMES = 1 << 18  # ... with so many times
_ROUNDS = 3  # of fitting
_FEW = 3  # calls that costs can be fitted to
_BEFORE = 4  # calls that may have used links up before one to which costs are fitted
_PER_OPERATION = 2e-6  # seconds of simulating; about
_SLOW_ABOVE = 32  # ranks: protocols take long
_LEFT_OUT = ("native", "auto", "nodes", "fastest", "linear_tree", "linear_sync", "linear")
_MIN_BYTES = 1024  # shorter vectors are left to the MPI library


class Simulator:
    """Calls of a trace on the virtual network."""

    def __init__(
        self, calls: Collectives, network: str, known: bool, assumed: str, native: str
    ) -> None:
        self.collectives, self.trace, self.native, self.known = calls, calls.trace, native, known
        self.network, self.assumed = core.Network(network), core.Network(assumed)
        self.nodes = _nodes(self.trace)
        self.factors: dict[CallClass, float] = {}  # of the library's calls
        self.own_factors: dict[CallClass, float] = {}  # of latecomer's
        self.own: dict[CallClass, str] = {}
        self.members: dict[CallClass, list[int]] = {}
        for event, each in enumerate(calls.classes):
            self.members.setdefault(each, []).append(event)
        self.handled = self.trace.handled
        self.simulated = [each for each in self.members if self._usable(each)]
        self.moves = Moves(self.trace, self.nodes, self.network, calls.last)

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
        """None: there is nothing to fit to."""
        places = np.unique(np.linspace(0, len(events) - 1, _SAMPLES, dtype=int))
        chosen = [events[at] for at in places]
        measured = self.collectives.some(events)
        took = np.mean([leave.mean() - arrival.max() for _, arrival, leave in measured])
        if took <= 0:
            return None
        factor = 1.0
        for _ in range(_ROUNDS):
            made = {(each, algorithm): self._executor(each, algorithm, factor)}
            found = []
            for event in chosen:
                found.append(self._after_last((each, algorithm), event, factor, made))
                if time.perf_counter() > until and len(found) > 1:
                    break
            factor *= float(np.clip(took / max(np.mean(found), 1e-9), 0.1, 10.0))
            if time.perf_counter() > until:
                break
        return float(np.clip(factor, 1e-3, 1e3))

    def _after_last(
        self,
        kind: tuple[CallClass, str],
        event: int,
        factor: float,
        made: dict[tuple[CallClass, str], Executes],
    ) -> float:
        """Mean exit minus last arrival of a call that is simulated as this class by this algorithm,
        on links that the calls and messages before it have used.

        `made` keeps what simulates calls with this factor.
        """
        links = Links(self.moves, self.nodes, self._costs(1.0 if self.known else factor))
        first = max(event - _BEFORE, 0) if self.network.burst else event
        kinds = {number: self._kind(number) for number in range(first, event)} | {event: kind}
        numbers = [number for number, (each, _) in kinds.items() if each in self.simulated]
        links.rest(first)
        after = 0.0
        for number, (_, came, measured) in zip(
            numbers, self.collectives.some(numbers), strict=True
        ):
            links.before(number, came.min())
            try:
                if kinds[number] not in made:
                    made[kinds[number]] = self._executor(*kinds[number], factor)
                left = made[kinds[number]](came, links)
            except (ValueError, RuntimeError):  # no algorithm takes the problem
                if number == event:
                    raise
                continue
            links.ended(measured.max() - left.max())
            after = float(left.mean() - came.max())
        return after

    def _kind(self, event: int) -> tuple[CallClass, str]:
        """The class of a call, and the algorithm of those that its server carried out."""
        each = self.collectives.classes[event]
        return each, NATIVE if self._served(event) == NATIVE else self._own(each)

    def links(self, speed: float) -> Links:
        """The links at rest, on a network so many times as fast."""
        return Links(self.moves, self.nodes, self._costs(self._typical() / speed))

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
        group, call = (
            self.trace.groups[self.collectives.groups[event]],
            self.collectives.calls[event],
        )
        if group.served[call] != SERVED.index("latecomer"):
            return NATIVE
        return self.trace.words[int(group.algorithm[call])].partition(":")[0]

    def executor(self, each: CallClass, algorithm: str, speed: float) -> Executes:
        """Calls of a class, one after the other, on a network so many times as fast."""
        return self._executor(each, algorithm, self._factor(each, algorithm) / speed)

    def _executor(self, each: CallClass, algorithm: str, factor: float) -> Executes:
        group = self.trace.groups[each.group]
        operator = self.trace.words[int(group.operator[self._first_call(each)])]
        asked = self._problem(each, commutative="ordered" not in operator)
        model = self._model(asked)
        nodes = [self.nodes[rank] for rank in group.members]
        shared = nodes if len(set(nodes)) < len(nodes) else []
        costs = self._costs(factor)
        simulate: Callable[..., dict[str, Any]]
        if algorithm == NATIVE:
            simulate = core.Plan(asked, model, network=costs, placement=shared).simulate
        else:
            if algorithm == "nodes" and not shared:
                algorithm = AUTO
            simulate = core.Rehearsal(
                asked, algorithm, costs, self.assumed, model, placement=shared
            ).call

        def execute(came: Floats, links: Links) -> Floats:
            first = float(came.min())
            clock = links.began(first)
            call = simulate((came - first).tolist(), links=links.buckets, nodes=nodes,
                            on_links=clock)  # fmt: skip
            left: Floats = first + np.array(call["exits"])
            return left

        return execute

    def _first_call(self, each: CallClass) -> int:
        return int(self.collectives.calls[self.members[each][0]])

    def _problem(self, each: CallClass, *, commutative: bool = True) -> core.Problem:
        group = self.trace.groups[each.group]
        element = max(1, int(group.element_bytes[self._first_call(each)]))
        return problem(collective=_row(each.collective), ranks=group.size,
                       count=max(1, each.bytes // element), element_bytes=element,
                       root=max(each.root, 0), commutative=commutative)  # fmt: skip

    def _model(self, asked: core.Problem) -> str:
        if asked.collective != MODELLED:
            return "fastest"
        if self.native not in MODELS:
            return self.native  # an algorithm
        size = asked.count * asked.element_bytes
        return MODELS[self.native](Call(asked.ranks, asked.count, size, asked.commutative))

    def suitable(self) -> list[str]:
        """The algorithms for the collective that takes the longest, the arrival-aware ones first.

        Those that are only fast without lateness are represented by the best of them.
        """
        cost: dict[str, float] = {}
        for each in self.simulated:
            some = self.members[each][:: max(1, len(self.members[each]) // 16)]
            measured = self.collectives.some(some)
            spent = [leave.mean() - arrival.mean() for _, arrival, leave in measured]
            cost[_row(each.collective)] = cost.get(_row(each.collective), 0.0) + float(
                np.mean(spent) * len(self.members[each])
            )
        collective = max(cost, key=cost.__getitem__)
        rows = [row for row in algorithms(collective) if row.name not in _LEFT_OUT]
        if self.trace.ranks > _SLOW_ABOVE:
            rows = [row for row in rows if row.kind != "protocol"]
        aware = [row.name for row in rows if row.arrival_aware]
        plain = [name for name in ("ring", "rabenseifner", "binomial", "recursive_doubling")
                 if name in [row.name for row in rows]]  # fmt: skip
        return plain[:2] + aware

    # ---- what a call is

    def algorithm(
        self, wanted: str, event: int, *, changed: bool, computed: bool = False
    ) -> str | None:
        """That of a call, if it is to be this one; None: the call stays as it was measured.

        `changed`: arrivals or the network are others than they were; `computed`: only arrivals.
        """
        call_class = self.collectives.classes[event]
        if call_class not in self.factors:
            return None
        served = self._served(event)
        if wanted == AS_IT_WAS:
            if served != NATIVE:
                return self._own(call_class)
            return None if computed else NATIVE
        name = _row(call_class.collective)
        short = call_class.bytes < _MIN_BYTES
        if short or (wanted not in (NATIVE, AUTO) and wanted not in _names(name)):
            wanted = NATIVE
        return None if wanted == served == NATIVE and not changed else wanted

    def _own(self, each: CallClass) -> str:
        """The algorithm by which latecomer executed a class: one that was set, or it chose."""
        if each not in self.own:
            some = self.members[each][:: max(1, len(self.members[each]) // 50)]
            names = {self._served(event) for event in some} - {NATIVE}
            name = next(iter(names)) if len(names) == 1 else AUTO
            self.own[each] = name if name in _names(_row(each.collective)) else AUTO
        return self.own[each]

    def cost(self, wanted: str, *, changed: bool, computed: bool = False) -> float:
        """About the seconds that a call takes to simulate, by the programs' operations."""
        total = 0.0
        for each in self.factors:
            algorithm = self.algorithm(
                wanted, self.members[each][0], changed=changed, computed=computed
            )
            if algorithm is not None:
                total += self._class_cost(each, algorithm) * len(self.members[each])
        return total / max(1, len(self.collectives)) + 2e-5

    def _class_cost(self, each: CallClass, algorithm: str) -> float:
        asked = self._problem(each)
        word = self._model(asked) if algorithm in (NATIVE, AUTO) else algorithm
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
