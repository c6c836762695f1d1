"""Writes the address of the repository, from the file ADDRESS, where users look for it.

Usage: address.py [FOLDER]      (of the clone)

Each file has a place between the words "address" and "/address", in its own kind of comment;
without an address nothing stands there. A test compares.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CLONE = "    git clone {url} latecomer && cd latecomer\n\n"
TEXTS = {
    "pyproject.toml": '[project.urls]\nRepository = "{url}"\nIssues = "{url}/issues"\n',
    "mkdocs.yml": "repo_url: {url}\nedit_uri: edit/main/docs/\n",
    "CITATION.cff": "repository-code: {url}\n",
    "README.md": CLONE,
    "docs/install.md": CLONE
    + "Questions and faults: {url}/issues, with the output of `latecomer doctor`.\n\n",
    "docs/index.md": "The repository: <{url}>\n\n",
}
PLACE = re.compile(
    r"(?P<open>^(#|<!--) address( -->)?\n)(.*?)(?P<close>^(#|<!--) /address( -->)?\n)",
    re.DOTALL | re.MULTILINE,
)


def address(root: Path) -> str:
    """The address; empty: there is none. Raises ValueError for a line that is no address."""
    lines = [line.strip() for line in (root / "ADDRESS").read_text(encoding="utf-8").splitlines()]
    found = [line for line in lines if line and not line.startswith("#")]
    if len(found) > 1 or not all(
        re.fullmatch(r"https://[^\s\"<>]+[^\s\"<>/]", line) for line in found
    ):
        raise ValueError(f"ADDRESS: {found}; give one line, as in https://example.org/latecomer")
    return found[0] if found else ""


def with_address(text: str, name: str, url: str) -> str:
    """The text of the file of this name with the address."""
    told = TEXTS[name].format(url=url) if url else ""
    found, count = PLACE.subn(lambda m: m["open"] + told + m["close"], text)
    if count != 1:
        raise ValueError(f"{name}: {count} places for the address; right would be one")
    return found


def main(root: Path) -> None:
    """Write all files."""
    url = address(root)
    for name in TEXTS:
        path = root / name
        path.write_text(with_address(path.read_text(encoding="utf-8"), name, url), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT)
