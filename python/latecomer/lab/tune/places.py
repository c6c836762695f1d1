"""Where cells are measured: the lab, this machine, or the nodes of the job at hand."""

from __future__ import annotations

from collections.abc import Sequence

from ...core import networks
from ...launch import mpi, processes, program
from ..bench.places import Place, find_place
from ..options.errors import OptionError

_ASK_S = 120.0


class LaunchedPlace:
    """The nodes of the job that this command runs in, by its launcher."""

    rank = 0
    beta = 0.0

    def __init__(
        self, launcher: Sequence[str], family: str | None, named: networks.Named | None
    ) -> None:
        if not mpi.is_launcher(launcher[0]):
            remedy = "name a launcher with its options, as in: -- srun --mpi=pmi2 -n 8"
            raise OptionError("no launcher", launcher[0], remedy)
        self._launcher = list(launcher)
        self._program = program.of_any(family)
        self.ranks = self._count()
        self.name = f"job of {self.ranks} ranks"
        found = named or networks.of_place(
            self.name, self.ranks, program.family_of(self._program), networks.UNNAMED
        )
        self.costs, self.costs_from = found.text, found.source

    def limit(self, _benchmark: object) -> None:
        """Nothing is known of the network."""

    def run(self, arguments: Sequence[str], deadline: float | None) -> int:
        return processes.run([*self._launcher, str(self._program), *arguments], deadline=deadline)

    def _count(self) -> int:
        """The ranks that the launcher starts."""
        words = [*self._launcher, "sh", "-c", "echo latecomer-rank"]
        ranks = processes.output_of(words, _ASK_S).count("latecomer-rank")
        if ranks > 1:
            return ranks
        remedy = "it must start two ranks or more; try it with hostname for a program"
        raise OptionError(f"ranks started by {' '.join(self._launcher)}", ranks, remedy)


def place_of(
    where: str | None,
    nodes: int | None,
    rate: str | None,
    per_node: int,
    family: str | None,
    network: str | None,
    launcher: Sequence[str],
) -> tuple[Place, str]:
    """The place, and how its ranks lie, as a rule says it. Raises UserError."""
    if where == "inherit" or launcher:
        if not launcher:
            remedy = "write the launcher at the end, as in: -- srun --mpi=pmi2 -n 8"
            raise OptionError("--place inherit without a launcher", "", remedy)
        if where not in (None, "inherit") or nodes or rate or per_node != 1:
            remedy = "leave it out: the launcher says where ranks run"
            raise OptionError("a launcher with options of the place", " ".join(launcher), remedy)
        named = networks.chosen(network) if network else None
        return LaunchedPlace(launcher, family, named), "any"
    place = find_place(where, nodes, rate, per_node, family, network=network)
    if place.name == "local":
        return place, "single-node"
    return place, "one-per-node" if per_node == 1 else "any"
