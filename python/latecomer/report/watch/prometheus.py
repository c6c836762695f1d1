"""A look in Prometheus's text format, version 0.0.4, for its collectors of files.

Source: https://prometheus.io/docs/instrumenting/exposition_formats/
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .sentences import hosts_of
from .watcher import View

_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
Samples = Iterable[tuple[Mapping[str, object], float]]


def text(view: View) -> str:
    """All metrics that are known."""
    seen, now, hosts = view.seen, view.now, hosts_of(view.seen)
    of_rank = [{"rank": rank, "host": host} for rank, host in enumerate(hosts)]
    metrics: list[tuple[str, str, Samples]] = [
        ("look_timestamp_seconds", "When the trace was last looked at.", [({}, view.real)]),
        ("ranks", "Ranks of the job.", [({}, seen.ranks)]),
        ("ranks_ended", "Ranks that have reached the end of MPI_Finalize.",
         [({}, len(seen.ended))]),
        ("rank_late", "1: the rank is late now.",
         [(labels, rank in view.late) for rank, labels in enumerate(of_rank)]),
        ("rank_stuck_seconds", "For how long ranks have waited in the call that the rank is in.",
         [(of_rank[rank], call.seconds) for call in view.stuck for rank in call.waits]),
        ("stuck_calls", "Calls in which ranks wait for long.", [({}, len(view.stuck))]),
    ]  # fmt: skip
    if now:
        metrics += [
            ("window_seconds", "The time that the ratios are of.", [({}, now.window)]),
            ("waiting_ratio", "Waiting for late ranks, of the time of all ranks.",
             [({}, now.waiting)]),
            ("rank_waiting_ratio", "The rank's waiting for late ranks, of its time.",
             zip(of_rank, now.waits, strict=True)),
            ("rank_caused_waiting_ratio", "Waiting of others for the rank, of the time of all "
             "ranks.", zip(of_rank, now.caused, strict=True)),
        ]  # fmt: skip
    if view.since is not None:
        metrics.append(("late_since_timestamp_seconds",
                        "The earliest time at which the rank is known to have been late; it may "
                        "have begun before the time that the watch looked at.",
                        [(of_rank[rank], view.since) for rank in view.late]))  # fmt: skip
    return "".join(_metric(*metric) for metric in metrics)


def _metric(name: str, meaning: str, samples: Samples) -> str:
    lines = [f"# HELP latecomer_{name} {meaning}", f"# TYPE latecomer_{name} gauge"]
    for labels, value in samples:
        told = ",".join(f'{key}="{str(each).translate(_ESCAPES)}"' for key, each in labels.items())
        shown = repr(round(float(value), 9)).removesuffix(".0")
        lines.append(f"latecomer_{name}{{{told}}} {shown}" if told else f"latecomer_{name} {shown}")
    return "\n".join([*lines, ""])
