"""`latecomer where`: the folder of the installed libraries, for build systems."""

from __future__ import annotations


def where() -> None:
    """Print the folder that holds lib and share of an installed latecomer, and include if compiled.

    CMake takes it as CMAKE_PREFIX_PATH; pkg-config's files lie below it in lib/pkgconfig. The wheel
    for other machines has neither these nor headers.

    Example: latecomer where
    """
    from ..base.errors import UserError
    from ..launch.program import PACKAGE

    signs = ("cmake", "liblatecomer_preload.so")  # built without MPI, and the wheel
    if not any((PACKAGE / "lib" / sign).exists() for sign in signs):
        remedy = "run `pip install .` in a clone of the repository (docs/install.md)"
        raise UserError("no libraries are installed here", PACKAGE, remedy)
    print(PACKAGE)
