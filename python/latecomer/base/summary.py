"""How long ranks waited for each other, and who was late, as a table for people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from . import units


@dataclass(frozen=True)
class RankSummary:
    """One rank's time in an observed part of a program, in seconds."""

    rank: int
    host: str
    elapsed: float  # of the part
    calls: int
    told: int  # calls whose arrivals are known
    last: int  # calls of these in which this rank was the last to arrive
    waiting: float  # in calls, from this rank's arrival to the last one before its exit
    moving: float  # in calls, from then to this rank's exit
    caused: float | None = None  # what others waited in calls to which it came last; not known


@dataclass(frozen=True)
class Summary:
    """All ranks' times in an observed part of a program; str() is a table for people."""

    ranks: tuple[RankSummary, ...]
    nothing: str = "No call was seen."  # the text if there was none
    clock_error: float = 0.0  # seconds by which arrivals may be wrong, as far as this part knows

    @property
    def calls(self) -> int:
        """The number of calls that were seen, of the rank that saw most."""
        return max((rank.calls for rank in self.ranks), default=0)

    @property
    def late(self) -> RankSummary | None:
        """The rank for which others waited most, or else that came last most often; None if
        nobody knows."""
        most = max(self.ranks, key=lambda rank: (rank.caused or 0.0, rank.last), default=None)
        return most if most and most.last else None

    @property
    def waiting(self) -> float:
        """The part of the time that a rank spent waiting for late ranks, in the mean: 0 to 1."""
        return self._part([rank.waiting for rank in self.ranks])

    @property
    def moving(self) -> float:
        """The part of the time that a rank spent moving data, in the mean: 0 to 1."""
        return self._part([rank.moving for rank in self.ranks])

    @property
    def lateness(self) -> float:
        """Seconds that the rank that waits most waits for the last one in a call, in the mean."""
        return max((rank.waiting / rank.told for rank in self.ranks if rank.told), default=0.0)

    def _part(self, seconds: Sequence[float]) -> float:
        return sum(seconds) / (sum(rank.elapsed for rank in self.ranks) or 1.0)

    def __str__(self) -> str:
        if not self.calls:
            return self.nothing
        lines = [self._sentence(), f"{'rank':>4}  {'host':<16} {'calls':>7} {'last in':>7} "
                 f"{'waiting s':>9} {'moving s':>9}"]  # fmt: skip
        lines += [f"{each.rank:>4}  {each.host:<16} {each.calls:>7} {each.last:>7} "
                  f"{each.waiting:>9.3f} {each.moving:>9.3f}" for each in self.ranks]  # fmt: skip
        return "\n".join(lines)

    def _sentence(self) -> str:
        start = (f"{100 * self.waiting:.1f} % of the time was waiting for late ranks, "
                 f"{100 * self.moving:.1f} % moving data.")  # fmt: skip
        late = self.late
        if late is None:
            return f"{start} No arrivals are known."
        right = f"clocks are compared to ±{units.seconds(self.clock_error)}"
        if self.clock_error >= self.lateness > 0:
            return (f"{start} Who came last is not known: {right}, and ranks wait "
                    f"{units.seconds(self.lateness)} a call.")  # fmt: skip
        end = f" Their {right}." if self.clock_error else ""
        whole = sum(rank.waiting for rank in self.ranks)
        part = f"{100 * late.caused / whole:.0f} %" if late.caused else ""
        share = f", and caused {part} of the waiting" if part else ""
        return (f"{start} Rank {late.rank} on {late.host} came last in {late.last} of the "
                f"{late.told} calls whose arrivals are known{share}.{end}")  # fmt: skip
