"""The other half of a cycle of packages, though not of modules."""

from ..report import page  # noqa: F401
