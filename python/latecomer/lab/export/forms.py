"""The forms of tuning files.

Sources:

- Open MPI 4.1 and 5, text: ompi/mca/coll/tuned/coll_tuned_dynamic_file.c and _rules.c of 4.1.4. The
  nearest smaller communicator and message count, and the first communicator for smaller ones, too.
- Open MPI 6, JSON: docs/tuning-apps/collectives/tuned.rst. The first match counts, as in rules.
- MPICH, JSON: src/mpi/coll/src/csel.c of 5.0. A file replaces the library's own table as a whole.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...base import regular_files
from ..rules import RuleError, RulesFile
from .counterparts import MPICH, NUMBERS, OPENMPI, Theirs
from .taken import Speech, Taken, flat, take

_MOST = 2**31 - 1  # of sizes that MPICH reads
_MOST_OF_LIBRARY = 1 << 28  # bytes


@dataclass(frozen=True)
class Form(Speech):
    """A form, its writer, and the variables by which a program gets the file."""

    write: Callable[[Taken, Path | None], str]
    use: str


def export(
    file: RulesFile, form: Form, imbalance: float, late_ranks: int, base: Path | None = None
) -> tuple[str, Taken]:
    """The text of a tuning file, and what it could not say.

    `imbalance` is in transfer times, as in rules. Libraries do not know who is late: the file is
    for jobs in which this imbalance is usual. `base`: the table of MPICH's own choices, or the
    library that has it within. Raises RuleError where no rule can be said or the base not be read.
    """
    taken = take(file, form, imbalance, late_ranks)
    if not taken.rules:
        why = "; ".join(taken.left) or f"none that holds at imbalance {imbalance:g} needs a file"
        remedy = f"give rules with algorithms that {form.library} has, too"
        raise RuleError("no rule can be exported", f"{file.path}: {why}", remedy)
    return form.write(taken, base), taken


# ---- Open MPI


def _as_text(taken: Taken, _base: Path | None) -> str:
    lines = [f"{len(taken.bands)} # collectives"]
    for collective, bands in taken.bands.items():
        tables = flat(bands)
        lines += [f"{NUMBERS[collective]} # {collective}", f"{len(tables)} # communicators"]
        for low, _, rows in tables:
            lines += [f"{low} # ranks or more", f"{len(rows)} # messages"]
            for size, _, theirs in rows:
                found = theirs or Theirs("the library's choice")
                numbers = f"{size} {found.number} {found.fan} {found.size}"
                lines.append(f"{numbers} # bytes or more, algorithm, fan, segment: {found.name}")
    return "\n".join(lines) + "\n"


def _as_rules(taken: Taken, _base: Path | None) -> str:
    collectives = {
        name: [
            {
                **_limits("comm_size", band.low, band.high),
                "comm_rank_distribution": band.distribution,
                "rules": [
                    {**_limits("msg_size", low, high), **_openmpi_words(theirs)}
                    for low, high, theirs in band.rows
                ],
            }
            for band in bands
        ]
        for name, bands in taken.bands.items()
    }
    content = {"rule_file_version": 3, "module": "tuned", "collectives": collectives}
    return json.dumps(content, indent=2) + "\n"


def _limits(name: str, low: int, high: float) -> dict[str, int]:
    return {f"{name}_min": low, **({} if high == math.inf else {f"{name}_max": int(high)})}


def _openmpi_words(theirs: Theirs | None) -> dict[str, Any]:
    if theirs is None:
        return {"alg": "ignore"}
    more = {"faninout": theirs.fan, "seg_size": theirs.size}
    return {"alg": theirs.name, **{name: value for name, value in more.items() if value}}


# ---- MPICH

_TOTAL = ("allgather",)  # its rules are for the gathered vector
_LESS = re.compile(r"comm_size<(\d+)")


def _as_csel(taken: Taken, base: Path | None) -> str:
    table = mpich_table(base)
    for collective, bands in taken.bands.items():
        found = table[f"collective={collective}"]
        own = _inner(found["comm_type=intra"])
        size = "total_msg_size" if collective in _TOTAL else "avg_msg_size"
        cases = []
        for _, ranks, rows in flat(bands):
            leaves = [(most, _leaf(collective, theirs, own)) for _, most, theirs in rows]
            cases.append((ranks, _chain(size, leaves)))
        found["comm_type=intra"] = _chain("comm_size", cases)
    return json.dumps(table, indent=1) + "\n"


def _chain(name: str, cases: Sequence[tuple[float, Any]]) -> dict[str, Any]:
    """The cases in the order of their upper ends; the last one holds for all the rest."""
    *some, (_, last) = cases
    for high, _ in some:
        if high >= _MOST:
            remedy = f"give sizes below {_MOST}, or no limit"
            raise RuleError("MPICH reads no such size", f"{high:.0f}", remedy)
    return {**{f"{name}<={high:.0f}": inner for high, inner in some}, f"{name}=any": last}


def _leaf(collective: str, theirs: Theirs | None, own: dict[str, Any]) -> dict[str, Any]:
    """The algorithm, and the library's choice where it does not work."""
    if theirs is None:
        return own
    leaf: dict[str, Any] = {f"algorithm=MPIR_{collective.capitalize()}_intra_{theirs.name}": {}}
    for condition in theirs.needs:
        name, _, _ = condition.partition("=")
        if name == "count>":  # at least as many elements as the greatest power of two of ranks
            leaf = {"count<pow2": own, "count=any": leaf}
        elif name == "comm_size":
            leaf = {condition: leaf, "comm_size=any": own}
        else:
            leaf = {f"{name}=no": own, condition: leaf}
    return leaf


def _inner(tree: dict[str, Any]) -> dict[str, Any]:
    """The tree for use below conditions on messages, where csel.c takes < of ranks for <=."""
    return {
        _LESS.sub(lambda found: f"comm_size<={int(found[1]) - 1}", key): _inner(inner)
        for key, inner in tree.items()
    }


def mpich_table(path: Path | None) -> dict[str, Any]:
    """The table by which an MPICH chooses, from a JSON file or the library that has it within.

    Raises RuleError for a file that is neither.
    """
    remedy = "name MPICH's libmpi.so.12, or its maint/tuning/coll/mpir/generic.json, by --base"
    if path is None:
        raise RuleError("the table of MPICH's own choices", "no MPICH found here", remedy)
    try:
        content = regular_files.read(path, _MOST_OF_LIBRARY)
    except OSError as error:
        raise RuleError(f"cannot read the base ({error.strerror})", path, remedy) from None
    found = filter(None, map(_table, re.findall(rb'\{\s*"collective=[^\0]*', content)))
    table = next(found, None)
    if table is None:
        raise RuleError("no table of MPICH's choices in", path, remedy)
    return table


def _table(text: bytes) -> dict[str, Any] | None:
    try:
        table = json.loads(text)
        algorithms = b"algorithm=MPIR_" in text
        for name in MPICH:
            _inner(table[f"collective={name}"]["comm_type=intra"])
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None
    return table if algorithms else None


_VARIABLES = "OMPI_MCA_coll_tuned_use_dynamic_rules=1 OMPI_MCA_coll_tuned_dynamic_rules_filename="
FORMS = {
    "openmpi-4": Form("Open MPI", OPENMPI, False, _as_text, _VARIABLES),
    "openmpi-6": Form("Open MPI", OPENMPI, True, _as_rules, _VARIABLES),
    "mpich-csel": Form(
        "MPICH", MPICH, False, _as_csel, "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE="
    ),
}
