"""Times of calls that stay in the files of a trace: they are read for those that are asked for."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base.arrays import Array, Floats, Int64s
from ...base.errors import UserError


class Stored:
    """The arrivals and exits of the calls of a communicator."""

    def __init__(self, calls: Any, rows: Int64s, parts: Int64s) -> None:
        """`calls` of the core; of these `rows`; `parts` of them, by member: -1 has no file."""
        self.calls, self.rows, self.parts = calls, rows, parts
        # For `Matching`, of each call: by how many seconds ranks of one clock contradict each
        # other, and when the calls were entered that completed these, if that is known.
        self.gaps: Floats = np.zeros(0)
        self.entered: Floats = np.zeros(0)
        self.together = False  # its ranks leave a call in which all wait for each other together

    def of(self, rows: Any) -> Stored:
        """The same of some calls; nothing is read."""
        return Stored(self.calls, self.rows[rows], self.parts)

    def read(self, rows: Any = slice(None), members: Any = slice(None)) -> tuple[Floats, Floats]:
        """Arrivals and exits, of shape (calls, members), in seconds. Raises UserError."""
        try:
            found: tuple[Floats, Floats] = self.calls.times(
                np.ascontiguousarray(self.rows[rows]), np.ascontiguousarray(self.parts[members])
            )
        except ValueError as error:
            raise UserError("a file of the trace cannot be read again", error,
                            "keep the files until the report is written") from None  # fmt: skip
        return found

    def forget_arrivals(self, rows: Int64s) -> None:
        for call in self.rows[rows].tolist():
            self.calls.forget_arrivals(call)

    def forget_member(self, member: int) -> None:
        if (part := int(self.parts[member])) >= 0:
            self.calls.forget_part(part)

    @property
    def arrival(self) -> Times:
        return Times(self, 0)

    @property
    def exit(self) -> Times:
        return Times(self, 1)


class Times:
    """One of both: what is indexed is read, and is an array."""

    def __init__(self, stored: Stored, which: int) -> None:
        self.stored, self._which = stored, which

    @property
    def shape(self) -> tuple[int, int]:
        """(calls, members)."""
        return len(self.stored.rows), len(self.stored.parts)

    def __getitem__(self, key: Any) -> Any:
        rows, *members = key if isinstance(key, tuple) else (key,)
        if isinstance(rows, (int, np.integer)):
            return self[slice(rows, rows + 1 or None)][(0, *members)]
        if members and isinstance(members[0], (int, np.integer)):
            return self.stored.read(rows, np.array(members))[self._which][:, 0]
        return self.stored.read(rows, *members)[self._which]

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        return np.asarray(self[:], dtype)
