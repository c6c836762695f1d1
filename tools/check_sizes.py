"""Checks that the sources are few and fuller than slices, and that none is too long.

Usage: python tools/check_sizes.py [ROOT]. Prints every breach below ROOT/src, and exits 1.
A header of few lines belongs into the file that needs it, unless it is an interface: a class of
pure virtual functions, or a wrapper of a header of elsewhere, which declares nothing itself.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

# Below src; a change that adds one takes another away, or says here why not: the last one more is
# that of windows and files, which traces have records of.
MOST_FILES = 380
MOST_LINES = 400
FEW_LINES = 20
BINDINGS = "python/*.[ch]pp"


def is_interface(text: str) -> bool:
    """True for a header that may be short."""
    return "= 0;" in text or "namespace latecomer" not in text


def breaches(root: Path) -> Iterator[str]:
    """Every breach, as `file: what`."""
    sources = sorted(file for file in (root / "src").rglob("*") if file.suffix[1:2] in ("c", "h"))
    if len(sources) > MOST_FILES:
        yield f"src: {len(sources)} files; right would be at most {MOST_FILES}"
    for file in [*sources, *sorted(root.glob(BINDINGS))]:
        text = file.read_text(encoding="utf-8")
        lines, name = text.count("\n"), file.relative_to(root).as_posix()
        if lines > MOST_LINES:
            yield f"{name}: {lines} lines; right would be at most {MOST_LINES}"
        if file.suffix == ".hpp" and lines <= FEW_LINES and not is_interface(text):
            yield f"{name}: a header of {lines} lines; right would be a part of a larger one"


def main() -> int:
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    found = list(breaches(root))
    print("\n".join(found) or "sizes: ok")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
