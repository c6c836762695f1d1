"""Recorded arrivals as arrays, for as many ranks as are wanted."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..base.arrays import Floats
from ..base.limits import MOST_RANKS
from .file import COLLECTIVES, Arrivals, AtlasError, read


def arrivals(
    file: str | Path, ranks: int | None = None, *, which: str | int = "", seed: int = 1
) -> Floats:
    """Lateness of each rank in each call of a file of the atlas, for `rehearse` and `simulate`.

    Parameters
    ----------
    file : path
        What `latecomer atlas record` wrote.
    ranks : int or None
        How many; None: as many as recorded. Other numbers are made by `resampled`.
    which : int or str
        Calls of the place of this number, or of this collective, as in "allreduce"; "": all.
    seed : int
        Of the ranks that stand for the recorded ones; without effect if there are as many.

    Returns
    -------
    array of shape (calls, ranks)
        Seconds after the first arrival, in the order of time; calls of the group that made most of
        those which are asked for.

    Raises
    ------
    ValueError
        For a file that is damaged or has no such calls, and for ranks out of range.
    """
    found = chosen(read(file), which, file)
    times = np.array(found.lateness_s)
    return times if ranks is None else resampled(times, ranks, seed)


def chosen(found: Arrivals, which: str | int, file: str | Path) -> Arrivals:
    """The calls that are asked for, of the group that made most of them. Raises AtlasError."""
    text = str(which)
    if not found.collective:
        remedy = "record a program that calls collectives"
        raise AtlasError(f"no calls in {file}", "a table without rows", remedy)
    if text.isdecimal():
        asked = np.array([str(place) == text for place in found.place], bool)
    else:
        asked = np.array([text in ("", name) for name in found.collective], bool)
    if not asked.any():
        known = sorted(set(found.collective), key=COLLECTIVES.index)
        remedy = f"use {', '.join(known)}"
        if (last := found.place.max(initial=-1)) >= 0:
            remedy += f", or a place from 0 to {last}"
        raise AtlasError(f"no such calls in {file}", repr(text), remedy)
    group = np.bincount(found.group[asked]).argmax()
    return found.part(np.flatnonzero(asked & (found.group == group)))


def resampled(times: Floats, ranks: int, seed: int) -> Floats:
    """Arrivals of other numbers of ranks, by the quantiles of each call.

    Each new rank stands for a recorded one, by the seed: as many, or one more, for each of them if
    there are more new ranks; else for some of them. In each call they arrive in the order of those,
    at evenly spaced quantiles of the recorded times. So the first and the last arrival stay what
    they were, and a rank that was last again and again has one that is. With as many ranks nothing
    changes. Arrays of shape (calls, ranks), in seconds. Raises AtlasError.
    """
    recorded = times.shape[1]
    if not 1 <= ranks <= MOST_RANKS:
        raise AtlasError("ranks out of range", ranks, f"use 1 to {MOST_RANKS}")
    if ranks == recorded:
        return times
    rng = np.random.default_rng(seed)
    stands_for = np.concatenate([rng.permutation(recorded)
                                 for _ in range(-(-ranks // recorded))])[:ranks]  # fmt: skip
    order = np.argsort(times[:, stands_for], axis=1, kind="stable")
    found = np.empty((len(times), ranks))
    quantiles = np.quantile(times, np.linspace(0, 1, ranks), axis=1).T
    np.put_along_axis(found, order, quantiles, axis=1)
    return found
