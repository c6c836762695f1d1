"""Rejected by tools/check_layers.py: the product may not use evidence."""


def lazily() -> None:
    """Also where it is imported late."""
    import evidence.reproduce  # noqa: F401
