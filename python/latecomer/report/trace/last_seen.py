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
            since = (int(header["since"]) - int(header["begin"])) * _NS
            found[place(file)].append((rank, since))
    told = []
    for where, of in found.items():
        ranks, times = [rank for rank, _ in of], [time for _, time in of]
        span = f"{min(times):.3f} s"
        if f"{max(times):.3f} s" != span:
            span += f" to {max(times):.3f} s"
        were = "was" if len(ranks) == 1 else "were"
        told.append(f"{ranks_said(ranks)} {were} last seen {where}, since {span} after the begin")
    return told[:_MOST]


def place(file: File) -> str:
    """Where its rank is, as in "in call 12 of MPI_COMM_WORLD, allreduce, at app+0x10"."""
    header = file.header
    doing, sequence = int(header["doing"]), int(header["doing_sequence"])
    peer = int(header["doing_peer"])
    if doing == COLLECTIVE:
        name = file.texts.get(int(header["doing_name"]), "a collective")
        comm = file.comms.get(int(header["doing_communicator"]))
        of = f" of {comm.name}" if comm else ""
        said = f"in {name}, call {sequence}{of}"
    elif doing in (_MESSAGE, _PROBE):
        which = int(header["doing_what"])
        what = WHAT[which] if which < len(WHAT) else "message"
        toward = "to" if what.endswith("send") else "from"
        rank = f"rank {peer} of its communicator" if peer >= 0 else "any rank"
        said = f"in a {what} {toward} {rank}, {f'tag {sequence}' if sequence >= 0 else 'any tag'}"
    elif doing == _COMPLETION:
        said = "in a call that completes messages or collectives"
    elif doing == _OTHER:
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
