"""Runs clang-tidy over the library's sources, as many processes at a time as there are cores.

Usage: tools/tidy.py [--part N/M] [TEXT]   the N-th of M parts; only those whose path has this text

Sources are read in the batches in which ./test compiles them, which takes a quarter of the time of
one by one; those that need MPI as compiled for Open MPI, if there is that.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# The analyzer takes what a file includes for headers, and looks at none of their functions, but
# where the path of the file has such a name, as a batch's then does.
BUILD = ROOT / "build" / "UnifiedSource-tidy"
WORDS = [ROOT / ".venv" / "bin" / "clang-tidy", "-p", BUILD, f"--config-file={ROOT}/.clang-tidy",
         "--quiet"]  # fmt: skip
CHECKED = (ROOT / "src", ROOT / "evidence")
FAMILIES = ("openmpi", "mpich", "abi")


def sources_of(unit: Path) -> list[Path]:
    """A batch's files; of a file that is compiled alone itself."""
    if "Unity" not in unit.parts:
        return [unit]
    return [Path(path) for path in re.findall(r'#include "(.+)"', unit.read_text())]


def units() -> list[Path]:
    """The arguments of clang-tidy: each source once, for the first family of MPI."""
    compiled = json.loads((BUILD / "compile_commands.json").read_text())
    targets: dict[str, list[Path]] = {}
    for each in compiled:
        target = re.search(r"CMakeFiles/(\w+)\.dir/", each["command"])
        if target and each["file"].endswith(("cpp", "cxx")):
            targets.setdefault(target[1], []).append(Path(each["file"]))
    found: list[Path] = []
    known: set[Path] = set()
    for target in sorted(targets, key=lambda name: [name.endswith(end) for end in FAMILIES[1:]]):
        for unit in targets[target]:
            sources = sources_of(unit)
            own = [path for path in sources if path not in known and {*CHECKED} & {*path.parents}]
            known.update(own)
            found += [unit] if own else []
    return found


def part_of(text: str) -> slice:
    """The places of a part: "1/2" is every second one, from the first on."""
    number, of = map(int, text.split("/"))
    if not 1 <= number <= of:
        raise argparse.ArgumentTypeError(f"{text}; right would be N/M, N from 1 to M")
    return slice(number - 1, None, of)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--part", type=part_of, default="1/1", metavar="N/M")
    parser.add_argument("text", nargs="?", default="", metavar="TEXT")
    wishes = parser.parse_args()
    text = wishes.text
    subprocess.run(["cmake", "--preset", "tidy"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    # Some batches also have files that the build makes.
    made = ["cmake", "--build", str(BUILD), "--target", "latecomer_dropin_made"]
    subprocess.run(made, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    wanted = [unit for unit in units() if any(text in str(path) for path in sources_of(unit))]
    wanted = wanted[wishes.part]
    if not wanted:
        sys.exit(f"tools/tidy.py: no source has '{text}' in its path")
    names = "\0".join(map(str, wanted)).encode()
    at_once = ["xargs", "-0", "-P", str(os.cpu_count() or 1), "-n", "2"]
    return subprocess.run([*at_once, *WORDS], cwd=ROOT, input=names, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
