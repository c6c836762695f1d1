"""Checks that each folder includes the folders that the architecture allows it, and no others.

Usage: python tools/check_layers.py [ROOT]. Prints every include that breaks a layer, and every
folder that is allowed and not used, and exits 1. The table is that of docs/architecture.md below
ROOT; without it the script exits 2.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

Table = dict[str, list[str]]  # what each folder may use; folders as includes name them
HEAD = "| folder | holds | may use |"
PUBLIC = "latecomer"  # the public headers
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)[">]', re.MULTILINE)
MPI_CALL = re.compile(r"(?<![A-Za-z_])MPI_[A-Z][a-z_]+[a-z0-9_]*\s*\(")
TOPS = ("src", "bench", "examples")


def table_of(document: str) -> Table:
    """The rows of C++ folders. ValueError where there is none."""
    lines = document.partition(HEAD)[2].splitlines()[2:]
    table: Table = {}
    for line in lines:
        if not line.startswith("|"):
            break
        folders, _, uses = (cell.strip() for cell in line.strip("|").split("|"))
        for path in re.findall(r"`([a-z_/]+)/`", folders):
            if path.partition("/")[0] not in TOPS or uses.startswith("as "):
                continue
            named = uses.replace("public headers", PUBLIC)
            table[path.removeprefix("src/")] = [] if named == "-" else named.split(", ")
    if not table:
        raise ValueError(f"no table of layers: a line '{HEAD}', and rows below it, are needed")
    return table


class Layers:
    """The table, and what was found to be used of it."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.used: dict[str, set[str]] = {layer: set() for layer in table}

    def of(self, path: str) -> str:
        """The layer that an included path or a source belongs to; '' if to none."""
        known = sorted([*self.table, PUBLIC], key=len, reverse=True)
        return next((name for name in known if path.startswith(name + "/")), "")

    def breaches(self, layer: str, text: str) -> list[str]:
        """What a file of the layer includes or calls that it must not."""
        allowed = {layer, *self.table[layer]}
        included = [(name, self.of(name)) for name in INCLUDE.findall(text)]
        self.used[layer].update(folder for _, folder in included)
        found = [f'includes "{name}"' for name, folder in included if folder not in {"", *allowed}]
        if layer in {"transports/mpi", "runtime"}:
            # Below the C API only PMPI_ is called, so that tools and the drop-in do not see us.
            found += [f"calls {call.strip('( ')}" for call in MPI_CALL.findall(text)]
        return found

    def unused(self) -> list[str]:
        return [f"{layer}: may use {folder}, and does not" for layer, allowed in self.table.items()
                for folder in allowed if folder not in self.used[layer]]  # fmt: skip


def check(root: Path) -> list[str]:
    """Every breach below root, as `file: what`."""
    layers = Layers(table_of((root / "docs" / "architecture.md").read_text(encoding="utf-8")))
    problems = []
    for top in TOPS:
        for path in sorted((root / top).rglob("*.[ch]pp")):
            name = path.relative_to(root / top if top == "src" else root).as_posix()
            layer = layers.of(name)
            if not layer:
                problems.append(f"{name}: belongs to no layer; add its folder to the table")
                continue
            text = path.read_text(encoding="utf-8")
            problems += [f"{name}: {what}" for what in layers.breaches(layer, text)]
    return problems + layers.unused()


def main() -> int:
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    try:
        problems = check(root)
    except (OSError, ValueError) as error:
        print(f"layers: {error}", file=sys.stderr)
        return 2
    print("\n".join(problems) or "layers: ok")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
