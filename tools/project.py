"""Writes what the file PROJECT says, address, contact and authors, where users look for it.

Usage: project.py [FOLDER]      (of the clone)

A file has places for it, as between the words "address" and "/address", in its own kind of comment.
A test compares.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CLONE = "    git clone {repository} latecomer && cd latecomer\n\n"
NOBODY = "    the person from whom you have this copy\n"
PEOPLE = "    {contact}\n"
# By place and file: the text, and the one where PROJECT leaves it open.
TEXTS = {
    ("address", "pyproject.toml"): (
        '[project.urls]\nRepository = "{repository}"\nIssues = "{repository}/issues"\n', ""),
    ("address", "mkdocs.yml"): ("repo_url: {repository}\nedit_uri: edit/main/docs/\n", ""),
    ("address", "CITATION.cff"): ("repository-code: {repository}\n", ""),
    ("address", "README.md"): (CLONE, ""),
    ("address", "docs/install.md"): (
        CLONE + "Questions and faults: {repository}/issues, with the output of `latecomer doctor`."
        "\n\n", ""),
    ("address", "docs/index.md"): ("The repository: <{repository}>\n\n", ""),
    ("address", "packaging/debian/control"): (
        "Homepage: {repository}\nVcs-Browser: {repository}\n", ""),
    ("address", "packaging/easybuild/latecomer-*.eb"): (
        "homepage = '{repository}'\n", "homepage = 'https://example.org/latecomer'\n"),
    ("contact", "packaging/debian/control"): (
        "Maintainer: the latecomer developers <{contact}>\n",
        "Maintainer: the latecomer developers <latecomer@example.org>\n"),
    ("contact", "SECURITY.md"): (PEOPLE, NOBODY),
    ("contact", "CODE_OF_CONDUCT.md"): (PEOPLE, NOBODY),
    ("authors", "pyproject.toml"): ("authors = [{names}]\n", ""),
    ("authors", "CITATION.cff"): ("authors:\n{people}", ""),
    ("authors", "paper/paper.md"): ("authors:\n{paper}", ""),
}  # fmt: skip
FORMS = {"repository": r"https://[^\s\"<>]+[^\s\"<>/]", "contact": r"[^\s\"<>]+@[^\s\"<>]+",
         "authors": r"\w[^\"{}<>:#;]*(; *\w[^\"{}<>:#;]*)*"}  # fmt: skip
EXAMPLES = {"repository": "https://example.org/latecomer", "contact": "latecomer@example.org",
            "authors": "Lovelace, Ada; the latecomer developers"}  # fmt: skip


def project(root: Path) -> dict[str, str]:
    """The values of PROJECT, and the texts made of them. Raises ValueError."""
    said = {}
    for line in (root / "PROJECT").read_text(encoding="utf-8").splitlines():
        name, _, value = (part.strip() for part in line.partition(":"))
        if not line or line.startswith("#"):
            continue
        if name not in FORMS or name in said:
            raise ValueError(f"PROJECT: '{name}'; each of {', '.join(FORMS)} has one line")
        if value and not re.fullmatch(FORMS[name], value):
            raise ValueError(f"PROJECT: {name}: '{value}'; give one as in {EXAMPLES[name]}")
        said[name] = value
    if not said.get("authors"):
        raise ValueError(f"PROJECT: no authors; give some as in {EXAMPLES['authors']}")
    people = [[part.strip() for part in each.split(",", 1)] for each in said["authors"].split(";")]
    full = [" ".join(reversed(each)) for each in people]
    said["names"] = ", ".join(f'{{name = "{name}"}}' for name in full)
    said["people"] = "".join(
        f"  - family-names: {each[0]}\n    given-names: {each[1]}\n" if each[1:]
        else f"  - name: {each[0]}\n" for each in people
    )  # fmt: skip
    said["paper"] = "".join(f"  - name: {name}\n    affiliation: 1\n" for name in full)
    return said


def written(text: str, name: str, said: dict[str, str]) -> str:
    """The text of the file of this name (a key of TEXTS), all places filled. Raises ValueError."""
    for (place, file), (there, open_) in TEXTS.items():
        if file != name:
            continue
        around = re.compile(
            rf"(?P<open>^(#|<!--) {place}( -->)?\n)(.*?)(?P<close>^(#|<!--) /{place}( -->)?\n)",
            re.DOTALL | re.MULTILINE,
        )
        source = {"address": "repository"}.get(place, place)
        new = there.format(**said) if said.get(source) else open_
        text, count = around.subn(lambda m, new=new: m["open"] + new + m["close"], text)
        if count != 1:
            raise ValueError(f"{name}: {count} places for the {place}; right would be one")
    return text


def files(root: Path) -> dict[Path, str]:
    """The files that have a place, each with its name in TEXTS."""
    return {path: name for _, name in TEXTS for path in root.glob(name)}


def main(root: Path) -> None:
    """Write all files."""
    said = project(root)
    for path, name in files(root).items():
        path.write_text(written(path.read_text(encoding="utf-8"), name, said), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT)
