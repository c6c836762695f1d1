"""Prepares a release: nothing is published or committed.

Usage: release.py VERSION [DATE]      as in 1.0.0 2026-12-01; by default today

The version is in CMakeLists.txt, from where builds, wheel and command have it; CITATION.cff and the
recipes of Debian and EasyBuild get a copy, with the date. Changes of changelog.d/ go into
CHANGELOG.md. The C interface is compared with the last release's, and becomes the one to compare
with; a new major version may break it. The version of the clone is released as it is if it has no
tag yet.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from datetime import date, datetime
from email.utils import format_datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = ROOT / ".venv" / "bin"
VERSION = re.compile(r"(?<=project\(latecomer VERSION )\d+\.\d+\.\d+")


def version(root: Path = ROOT) -> str:
    """The version of the clone."""
    return VERSION.search((root / "CMakeLists.txt").read_text(encoding="utf-8"))[0]


def has_tag(of: str) -> bool:
    """Tell whether the version was released."""
    listed = subprocess.run(["git", "tag", "--list", f"v{of}"], cwd=ROOT, capture_output=True,
                            text=True, check=True)  # fmt: skip
    return bool(listed.stdout)


def check_tools() -> None:
    """Raises SystemExit for tools that a step would miss when files are written already."""
    missing = [name for name in ("towncrier", "cffconvert") if not (BIN / name).exists()]
    missing += [name for name in ("abidw", "abidiff") if not shutil.which(name)]
    if missing:
        raise SystemExit(f"no {', '.join(missing)}; tools/prepare.sh test installs them, and "
                         "cffconvert where .venv has a Python before 3.12")  # fmt: skip


def check(new: str, old: str, day: str, released: bool = True) -> bool:
    """Return whether the C interface may break. Raises SystemExit for what is no later version
    than `old`, or the same if that is not `released`."""
    if not re.fullmatch(r"\d+\.\d+\.\d+", new):
        raise SystemExit(f"version '{new}'; give three numbers, as in 1.0.0")
    after, before = (tuple(map(int, each.split("."))) for each in (new, old))
    if after < before or (after == before and released):
        raise SystemExit(f"version {new}; give one after {old}")
    try:
        date.fromisoformat(day)
    except ValueError:
        raise SystemExit(f"date '{day}'; give one as in 2026-12-01") from None
    if after == before:
        return True
    return after[0] > before[0] or (before[0] == 0 and after[1] > before[1])  # docs/c.md


def written(root: Path, new: str, day: str) -> None:
    """Write the version into its place, and the copies."""
    old = version(root)
    cmake, citation = root / "CMakeLists.txt", root / "CITATION.cff"
    cmake.write_text(VERSION.sub(new, cmake.read_text(encoding="utf-8"), count=1), encoding="utf-8")
    text = re.sub(r"(?m)^date-released: .*\n", "", citation.read_text(encoding="utf-8"))
    lines = f"version: {new}\ndate-released: {day}\n"
    citation.write_text(re.sub(r"(?m)^version: .*\n", lines, text, count=1), encoding="utf-8")
    recipes = root / "packaging"
    easybuild = recipes / "easybuild" / f"latecomer-{old}.eb"
    text = easybuild.read_text(encoding="utf-8").replace(old, new)
    renamed = easybuild.rename(easybuild.with_name(f"latecomer-{new}.eb"))
    renamed.write_text(text, encoding="utf-8")
    debian = recipes / "debian" / "changelog"
    entries = debian.read_text(encoding="utf-8")
    last = entries.split("\nlatecomer (")[0]
    if new == old:
        entries = entries[len(last) + 1 :]
    last = last.replace(old, new)
    control = (recipes / "debian" / "control").read_text(encoding="utf-8")
    who = re.search(r"(?m)^Maintainer: (.*)$", control)[1]
    moment = format_datetime(datetime.fromisoformat(f"{day}T00:00:00+00:00"))
    last = re.sub(r"(?m)^ -- .*$", f" -- {who}  {moment}", last).rstrip("\n")
    debian.write_text(f"{last}\n\n{entries}".rstrip("\n") + "\n", encoding="utf-8")
    changes = root / "CHANGELOG.md"  # towncrier writes a heading
    text = changes.read_text(encoding="utf-8")
    changes.write_text(text.replace(f"## {new}, unreleased\n\n", ""), encoding="utf-8")


def run(*command: str) -> None:
    """A step; the first that fails ends the release."""
    print("==", *command, flush=True)
    if code := subprocess.run(command, cwd=ROOT, check=False).returncode:
        raise SystemExit(f"{' '.join(command)} ended with {code}")


def main(new: str, day: str) -> None:
    """All steps."""
    old = version()
    python = str(BIN / "python")
    check_tools()
    if not check(new, old, day, has_tag(old)):
        run(python, "packaging/abi.py", "check")
    print(
        f"If a step fails: git checkout . && git clean -f packaging, then {new} can be tried again"
    )
    written(ROOT, new, day)
    run(str(BIN / "towncrier"), "build", "--yes", "--version", new, "--date", day)
    run(python, "packaging/abi.py", "save")
    run(str(BIN / "cffconvert"), "--validate")
    print(f"Look at it, run ./test, then: git commit -am 'Version {new}' && git tag v{new}")
    print("The wheel and its checksum: .venv/bin/python packaging/wheel/make.py")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        raise SystemExit(__doc__)
    main(sys.argv[1], sys.argv[2] if len(sys.argv) == 3 else date.today().isoformat())
