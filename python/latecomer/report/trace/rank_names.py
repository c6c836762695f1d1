"""The ranks that names of files hold: `rank3.json`, `worker3.1694128201557.pt.trace.json`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from .left_out import LeftOut

_WORDS = (re.compile(r"rank[^0-9a-z]?(\d+)", re.I),
          re.compile(r"(?:worker|proc|process)[^0-9a-z]?(\d+)", re.I))  # fmt: skip
_NUMBER = re.compile(r"(?<!\d)\d{1,7}(?!\d)")
# `host_pid.time`: what PyTorch's handler for TensorBoard calls a file, unless it is told a name.
_OF_HANDLER = re.compile(r".*_\d+\.\d{10,}$")
_TIME = re.compile(r"\.\d{10,}$")
_FEW = 64  # ranks that any number of files may be of
_SPARSE = 16  # one of so many ranks has a file, at least
_MOST_LISTED = 1 << 17  # ranks of which few have files


def believed(files: int) -> int:
    """Ranks of so many files are below this; a greater one is some other number."""
    return max(_FEW, _SPARSE * files)


def listed(lists: Collection[Iterable[tuple[int, ...]]]) -> int:
    """How many ranks there are by each file's lists of groups, sorted; 0: none can be believed.

    Those are whose ranks are not too great for so many files, or, where several files have the
    same one, for so many members.
    """
    said = Counter(members for own in lists for members in set(own) if members)
    found = 0
    for members, times in said.items():
        many = min(believed(len(members)), _MOST_LISTED) if times > 1 else 0
        if members[-1] < max(believed(len(lists)), many):
            found = max(found, 1 + members[-1])
    return found


def ranks(folder: Path, paths: Sequence[Path], likely: int, left: LeftOut) -> dict[Path, int]:
    """The rank of each file whose name holds one, or that of its folder in the trace's.

    A word such as `rank` before the number is believed, unless so few files are of no such ranks.
    The last number of a name is, where it is not much greater than the likely number of ranks:
    others are numbers of processes, dates, times.
    """
    most = max(believed(len(paths)), likely)
    found = {}
    for path in paths:
        parts = [*reversed(path.relative_to(folder).parts)]
        stems = [each.partition(".json")[0].removesuffix(".trace").removesuffix(".pt")
                 for each in parts]  # fmt: skip
        said = (word.search(stem) for word in _WORDS for stem in stems)
        rank = next((int(each[1]) for each in said if each), None)
        if rank is None:
            numbers = (_number(stem, _SPARSE * likely) for stem in stems)
            rank = next((each for each in numbers if each is not None), None)
        if rank is not None and rank >= most:
            left.add("files whose rank is too great for so many files", path)
        elif rank is not None:
            found[path] = rank
    return found


def _number(stem: str, below: int) -> int | None:
    if _OF_HANDLER.match(stem):
        return None
    numbers = _NUMBER.findall(_TIME.sub("", stem))
    return int(numbers[-1]) if numbers and int(numbers[-1]) < below else None
