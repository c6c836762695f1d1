"""The other half of a cycle."""

TWO = 2


def one() -> int:
    """Imported late, and a cycle all the same."""
    from . import first

    return first.ONE
