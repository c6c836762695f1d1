"""Where the ranks were of a job that was killed, hangs or runs: the status in their files."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from .model import OTHER_CALLS, ranks_said
from .native_file import WHAT, File

_NOTHING, COLLECTIVE, _MESSAGE, _PROBE, _COMPLETION, _OTHER = range(6)  # what a rank does
_MOST = 8  # sentences
_NS = 1e-9


def last_seen(files: Mapping[int, File]) -> list[str]:
    """Sentences about the ranks that have not ended, those in the same call together.

    Times are those since the rank's begin. A status that was being written is left out.
    """
    found: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for rank, file in files.items():
        header = file.header
        if not header["end"] and header["turn"] and header["turn"] % 2 == 0:
            found[place(file)].append((rank, _since(file)))
    told = []
    for where, of in found.items():
        ranks, times = [rank for rank, _ in of], [time for _, time in of]
        span = f"{min(times):.3f} s"
        if f"{max(times):.3f} s" != span:
            span += f" to {max(times):.3f} s"
        were = "was" if len(ranks) == 1 else "were"
        told.append(f"{ranks_said(ranks)} {were} last seen {where}, since {span} after the begin")
    return told[:_MOST]


def last_of(file: File) -> str:
    """As in "was last seen outside of calls that may wait, since 1.000 s after its begin"."""
    if file.header["end"]:
        return "has come to its end"
    return f"was last seen {place(file)}, since {_since(file):.3f} s after its begin"


def _since(file: File) -> float:
    return (int(file.header["since"]) - int(file.header["begin"])) * _NS


def doing(file: File) -> int:
    """The kind of call that the rank is in; 0: none that may wait."""
    return int(file.header["doing"]) if file.header["turn"] else _NOTHING


def key_of(file: File) -> tuple[tuple[int, int], int] | None:
    """The key of a collective on all its ranks; None: the rank is in another call, or in none."""
    if doing(file) != COLLECTIVE:
        return None
    comm = file.comms.get(int(file.header["doing_communicator"]))
    return (comm.key, int(file.header["doing_sequence"])) if comm else None


def call_of(file: File) -> str:
    """Its collective, as in "call 12 of MPI_COMM_WORLD, allreduce"; empty: it is in none."""
    if key_of(file) is None:
        return ""
    comm = file.comms[int(file.header["doing_communicator"])]
    return f"call {int(file.header['doing_sequence'])} of {comm.name}, {collective(file)}"


def collective(file: File) -> str:
    """The name of the collective that it is in."""
    return file.texts.get(int(file.header["doing_name"]), "a collective")


def place(file: File) -> str:
    """Where its rank is, as in "in call 12 of MPI_COMM_WORLD, allreduce, at app+0x10"."""
    header = file.header
    what_it_does, sequence = int(header["doing"]), int(header["doing_sequence"])
    peer = int(header["doing_peer"])
    if what_it_does == COLLECTIVE:
        name = collective(file)
        comm = file.comms.get(int(header["doing_communicator"]))
        of = f" of {comm.name}" if comm else ""
        said = f"in {name}, call {sequence}{of}"
    elif what_it_does in (_MESSAGE, _PROBE):
        which = int(header["doing_what"])
        what = WHAT[which] if which < len(WHAT) else "message"
        toward = "to" if what.endswith("send") else "from"
        rank = f"rank {peer} of its communicator" if peer >= 0 else "any rank"
        said = f"in a {what} {toward} {rank}, {f'tag {sequence}' if sequence >= 0 else 'any tag'}"
    elif what_it_does == _COMPLETION:
        said = "in a call that completes messages or collectives"
    elif what_it_does == _OTHER:
        kinds = [name for bit, name in enumerate(OTHER_CALLS)
                 if int(header["doing_what"]) >> bit & 1]  # fmt: skip
        named = f" ({', '.join(kinds)})" if kinds else ""
        said = f"in a call of MPI{named}"
    else:
        if not file.messages_traced:
            return "outside of collectives"
        return "outside of calls that may wait (tests are not counted)"
    site = file.texts.get(int(header["doing_site"]), "")
    return f"{said}, at {site}" if site else said
