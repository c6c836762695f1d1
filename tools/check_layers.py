"""Checks that each folder includes only the folders that the architecture allows it.

Usage: python tools/check_layers.py [ROOT]. Prints every include that breaks a layer and exits 1.
The table is the one of docs/architecture.md.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

CORE = ["base", "schedule", "protocol", "spec", "patterns", "arrival", "algorithms", "verify",
        "engine", "parties", "simulate", "telemetry", "choose",
        "rehearse"]  # fmt: skip
ALLOWED: dict[str, list[str]] = {
    "base": [],
    "schedule": ["base"],
    "protocol": ["base", "schedule"],
    "spec": ["base", "schedule"],
    "patterns": ["base"],
    "arrival": ["base", "schedule"],
    "algorithms": ["base", "schedule", "protocol", "spec", "patterns", "arrival"],
    "verify": ["base", "schedule", "protocol", "spec"],
    "engine": ["base", "schedule", "protocol"],
    "parties": ["base", "schedule", "protocol", "algorithms", "engine"],
    "telemetry": ["base", "schedule", "protocol", "arrival"],
    "choose": ["base", "schedule", "patterns", "arrival", "algorithms", "telemetry"],
    "simulate": ["base", "schedule", "protocol", "spec", "arrival", "engine"],
    "rehearse": [
        "base",
        "schedule",
        "protocol",
        "arrival",
        "algorithms",
        "engine",
        "parties",
        "simulate",
        "telemetry",
        "choose",
    ],
    "transports/mpi": ["base", "schedule", "protocol", "engine"],
    "transports/simgrid": ["base", "schedule", "protocol", "engine", "simulate"],
    "commands/simgrid": [*CORE, "transports/simgrid"],
    "runtime": [*CORE, "transports/mpi", "capi/core", "latecomer"],
    "capi/core": [*CORE, "latecomer"],
    "capi/mpi": [*CORE, "transports/mpi", "runtime", "capi/core", "latecomer"],
    "bench": ["latecomer"],
    "examples": ["latecomer"],
}
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
MPI_CALL = re.compile(r"(?<![A-Za-z_])MPI_[A-Z][a-z_]+[a-z0-9_]*\s*\(")


def folder_of(path: str) -> str:
    """The layer that an included path or a source below src/ belongs to; '' if to none."""
    known = sorted([*ALLOWED, "latecomer"], key=len, reverse=True)
    return next((name for name in known if path.startswith(name + "/")), "")


def breaches_of(layer: str, text: str) -> list[str]:
    """What a file of the layer includes or calls that it must not."""
    allowed = {layer, *ALLOWED[layer]}
    found = [f'includes "{name}"' for name in INCLUDE.findall(text)
             if folder_of(name) and folder_of(name) not in allowed]  # fmt: skip
    if layer == "transports/mpi" or layer == "runtime":
        # Below the C API only PMPI_ is called, so that tools and the drop-in do not see us.
        found += [f"calls {call.strip('( ')}" for call in MPI_CALL.findall(text)]
    return found


def check(root: Path) -> list[str]:
    """Every breach below root, as `file: what`."""
    problems = []
    for top in ("src", "bench", "examples"):
        for path in sorted((root / top).rglob("*.[ch]pp")):
            name = path.relative_to(root / top if top == "src" else root).as_posix()
            layer = folder_of(name)
            if not layer:
                problems.append(f"{name}: belongs to no layer; add its folder to the table")
                continue
            text = path.read_text(encoding="utf-8")
            problems += [f"{name}: {what}" for what in breaches_of(layer, text)]
    return problems


def main() -> int:
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    problems = check(root)
    print("\n".join(problems) or "layers: ok")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
