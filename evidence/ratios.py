"""Ratios of paired measurements, in words."""

from __future__ import annotations

import numpy as np


def median_interval(ratios: np.ndarray) -> str:
    """The median with its 95 % interval (bootstrap with a fixed seed): 0.932 (0.931 to 0.934)."""
    source = np.random.default_rng(3)
    medians = np.median(source.choice(ratios, (2000, len(ratios))), axis=1)
    low, high = np.quantile(medians, (0.025, 0.975))
    return f"{np.median(ratios):.3f} ({low:.3f} to {high:.3f})"
