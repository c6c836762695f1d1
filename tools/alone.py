"""Checks that each source includes what it uses: compiles one by one what ./test builds in batches.

Usage: tools/alone.py   after `tools/build.sh release ...`
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tidy import ROOT, sources_of

BUILD = ROOT / "build" / "release"
# With a word behind each: headers that CMake has read before each file hide those that are missing.
LEFT_OUT = ("-o", "-include")


def commands() -> list[list[str]]:
    """How the compiler reads each source of a batch, once, without making anything."""
    found: dict[Path, list[str]] = {}
    for each in json.loads((BUILD / "compile_commands.json").read_text()):
        unit = Path(each["file"])
        words = shlex.split(each["command"])
        if "Unity" not in unit.parts or "-o" not in words:
            continue
        kept = [word for before, word in zip(["", *words], words, strict=False)
                if before not in LEFT_OUT and word not in (*LEFT_OUT, "-c", str(unit))]  # fmt: skip
        for source in sources_of(unit):
            if ROOT / "src" in source.parents:
                found.setdefault(source, [*kept, "-fsyntax-only", str(source)])
    return list(found.values())


def main() -> int:
    all_commands = commands()
    if not all_commands:
        sys.exit(f"tools/alone.py: {BUILD} has no batches; call tools/build.sh release all 2 first")
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        codes = list(pool.map(lambda words: subprocess.call(words, cwd=BUILD), all_commands))
    print(f"{len(codes)} sources, {sum(map(bool, codes))} do not compile alone")
    return int(any(codes))


if __name__ == "__main__":
    sys.exit(main())
