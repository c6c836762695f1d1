"""The commands that README and the documentation show, as lists of words."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NAMES = {"latecomer", "./latecomer"}
_ENDS = {"&&", "||", ";", "|", ">", ">>", "<", "2>", "&"}
_STARTERS = {"mpirun", "mpiexec", "srun", "/usr/bin/time", "time", "apptainer", "docker", "podman"}
_SHELLS = {"", "sh", "bash", "console"}
_SPAN = re.compile(r"`((?:\./)?latecomer [^`]+)`")


@dataclass(frozen=True)
class Shown:
    """A command of the page, and whether it stands in a block of its own or within a sentence."""

    page: str
    words: tuple[str, ...]  # behind `latecomer`
    block: bool

    @property
    def text(self) -> str:
        """The command as a reader would type it."""
        return shlex.join(["latecomer", *self.words])

    def __str__(self) -> str:
        return f"{self.page}: {self.text}"


def pages() -> list[Path]:
    """README, and all Markdown of docs/, examples/ and evidence/."""
    below = [
        page for top in ("docs", "examples", "evidence") for page in (ROOT / top).rglob("*.md")
    ]
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(below)]


def shown_commands() -> list[Shown]:
    """All commands of all pages."""
    return [each for page in pages() for each in commands_of(page.relative_to(ROOT).as_posix(),
            page.read_text(encoding="utf-8"))]  # fmt: skip


def commands_of(page: str, text: str) -> Iterator[Shown]:
    """The commands of one page: those of its blocks, then those within its sentences."""
    blocks, prose = _parts(text)
    for line in _lines(blocks):
        for words in _commands(line):
            yield Shown(page, tuple(words), block=True)
    for span in _SPAN.findall(re.sub(r"\n *", " ", prose)):
        for words in _commands(span):
            yield Shown(page, tuple(words), block=False)


def block_lines(text: str) -> list[str]:
    """The lines of a page's blocks, with continued ones joined and comments removed."""
    return list(_lines(_parts(text)[0]))


def _parts(text: str) -> tuple[str, str]:
    """The lines of fenced and indented blocks, and the others."""
    blocks, prose, fence, language = [], [], "", ""
    for line in text.splitlines():
        mark = re.match(r" *(```+|~~~+) *(\w*)", line)
        if mark and (not fence or mark[1].startswith(fence)):
            fence, language = ("", "") if fence else mark.groups()
        elif fence or line.startswith("    "):
            blocks += [line.strip()] if language in _SHELLS else []
        else:
            prose.append(line)
    return "\n".join(blocks), "\n".join(prose)


def _lines(blocks: str) -> Iterator[str]:
    for line in re.sub(r"\\\n", " ", blocks).splitlines():
        yield re.sub(r"(^|\s)#.*", "", line).strip()


def _commands(line: str) -> Iterator[list[str]]:
    """Each `latecomer` of a line: one may start another, as `lab run` does."""
    if not NAMES & set(line.split()):
        return
    words = shlex.split(line)
    for at, word in enumerate(words):
        if word in NAMES and _is_command(words[:at]):
            rest = words[at + 1 :]
            end = next((i for i, each in enumerate(rest) if each in _ENDS), len(rest))
            yield rest[:end]


def _is_command(before: list[str]) -> bool:
    """Tell whether a word behind these starts a command: not in `spack install latecomer`."""
    if not before or before[-1] in {"--", *_ENDS}:
        return True
    return bool(_STARTERS & set(before)) or all(
        re.fullmatch(r"[A-Z_]+=.*", each) for each in before
    )
