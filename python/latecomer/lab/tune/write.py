"""Rules from measured cells: each holds around the sizes and imbalances at which it was measured.

The border between two of them is their geometric mean. Beyond the smallest and the largest size a
rule holds for half an octave more; beyond the largest imbalance it holds for all.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...base.errors import UserError
from ...base.whole_files import write_text
from ...core.compiled import __version__, core

_VERSION = 1
_MOST_COMMENT = 1000


def rules_of(
    cells: Mapping[tuple[str, int], Sequence[Mapping[str, Any]]],
    ranks: int,
    spread: str,
    costs: str,
    one_late: bool,
    comment: str,
) -> dict[str, Any]:
    """The content of a file of rules.

    `cells`: what was measured, by collective and bytes, the fields of Measured. `one_late`:
    the arrivals had a single late rank.
    """
    collectives: dict[str, Any] = {}
    for collective in dict.fromkeys(name for name, _ in cells):
        sizes = sorted(size for name, size in cells if name == collective)
        rules = [
            rule
            for index, size in enumerate(sizes)
            for rule in _of_size(sizes, index, cells[collective, size], one_late)
        ]
        if rules:
            communicators: dict[str, Any] = {"comm_size_min": ranks, "comm_size_max": ranks}
            if spread != "any":
                communicators["comm_rank_distribution"] = spread
            collectives[collective] = [{**communicators, "rules": rules}]
    text = f"latecomer {__version__}: {comment}"  # ASCII, which file names in it need not be
    return {
        "rule_file_version": _VERSION,
        "module": "latecomer",
        "comment": text.encode("ascii", "replace").decode()[
            :_MOST_COMMENT
        ],  # file names may be none
        "network": core.Network(costs).text,
        "collectives": collectives,
    }


def write(content: Mapping[str, Any], path: Path) -> None:
    """Write the file, at once or not at all, after the library's reader accepted it."""
    text = _text(content)
    core.UserRules(text, str(path))
    try:
        write_text(path, text)
    except OSError as error:
        raise UserError(
            f"cannot write the rules ({error.strerror})", path, "use --output"
        ) from None


def _text(content: Mapping[str, Any]) -> str:
    """JSON with one rule a line."""
    collectives = []
    for name, entries in content["collectives"].items():
        parts = []
        for entry in entries:
            head = json.dumps({k: v for k, v in entry.items() if k != "rules"})[1:-1]
            rules = ",\n".join(f"        {json.dumps(rule)}" for rule in entry["rules"])
            parts.append(f'      {{{head}, "rules": [\n{rules}\n      ]}}')
        collectives.append(f'    "{name}": [\n' + ",\n".join(parts) + "\n    ]")
    top = [f'  "{k}": {json.dumps(v)}' for k, v in content.items() if k != "collectives"]
    body = "{\n" + ",\n".join(collectives) + "\n  }" if collectives else "{}"
    return "{\n" + ",\n".join([*top, f'  "collectives": {body}']) + "\n}\n"


def _of_size(
    sizes: Sequence[int], index: int, measured: Sequence[Mapping[str, Any]], one_late: bool
) -> list[dict[str, Any]]:
    ordered = sorted(measured, key=lambda each: each["imbalance"])
    imbalances = [each["imbalance"] for each in ordered]
    low, high = _around(sizes, index)
    return [
        {
            "msg_size_min": math.ceil(low),
            "msg_size_max": math.ceil(high) - 1,
            **_imbalance(imbalances, number),
            **(
                {"late_ranks_min": 1, "late_ranks_max": 1}
                if one_late and imbalances[number]
                else {}
            ),
            "alg": each["algorithm"],
            "measured_ratio": round(each["ratio"], 3),
            "comment": f"{each['median_ms']:.4g} ms, native {each['native_ms']:.4g} ms",
        }
        for number, each in enumerate(ordered)
        if each["beats"]
    ]


def _around(values: Sequence[float], index: int) -> tuple[float, float]:
    """The borders to the neighbours."""
    value = values[index]
    low = math.sqrt(values[index - 1] * value) if index > 0 else value / math.sqrt(2)
    last = index == len(values) - 1
    high = value * math.sqrt(2) if last else math.sqrt(value * values[index + 1])
    return low, high


def _imbalance(values: Sequence[float], index: int) -> dict[str, float]:
    """The conditions on the imbalance; 0 reaches to half of the next one."""
    limits: dict[str, float] = {}

    def border(first: float, second: float) -> float:
        return float(f"{second / 2 if first == 0 else math.sqrt(first * second):.4g}")

    if index > 0:
        limits["imbalance_min"] = border(values[index - 1], values[index])
    if index < len(values) - 1:
        limits["imbalance_max"] = border(values[index], values[index + 1])
    return limits
