"""`latecomer where`: the folder of the installed libraries, for build systems."""

from __future__ import annotations


def where() -> None:
    """Print the folder that holds lib, include and share of an installed latecomer.

    CMake takes it as CMAKE_PREFIX_PATH; pkg-config's files lie below it in lib/pkgconfig.

    Example: latecomer where
    """
    from ..base.errors import UserError
    from ..launch.program import PACKAGE

    if not (PACKAGE / "lib" / "cmake").is_dir():
        remedy = "run `pip install .` in a clone of the repository (docs/install.md)"
        raise UserError("no libraries are installed here", PACKAGE, remedy)
    print(PACKAGE)
