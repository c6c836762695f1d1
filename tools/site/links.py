"""Links of the repository's Markdown as links of the site.

On a forge a page of docs/ may point to any file of the repository. The site holds docs/ and what
its pages point to outside of it: such files become pages below source/.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_LINK = re.compile(r"(\]\()([^)\s#]+)((?:#[^)\s]*)?\))")
_PICTURE = re.compile(r"^(!\[[^\]]*\]\(([^)\s]+)\))$", re.MULTILINE)
_LANGUAGES = {".c": "c", ".h": "c", ".cpp": "cpp", ".hpp": "cpp", ".py": "python", ".txt": "text",
              ".sh": "sh", ".json": "json", ".toml": "toml", ".cmake": "cmake"}  # fmt: skip


def site_page(path: str) -> str:
    """The source of the site's page for a file or folder of the repository."""
    if path.startswith("docs/"):
        inner = path.removeprefix("docs/").rstrip("/")
        return f"{inner}/index.md" if (ROOT / path).is_dir() else inner
    if path.startswith("include/latecomer/"):
        return f"reference/{Path(path).name}.md"
    fixed = {"README.md": "index.md", "CHANGELOG.md": "changelog.md"}
    if path in fixed:
        return fixed[path]
    return f"source/{path.rstrip('/')}" + ("" if path.endswith(".md") else ".md")


def _is_elsewhere(target: str) -> bool:
    return "://" in target or target.startswith(("mailto:", "/"))


def targets(origin: str, text: str) -> Iterable[str]:
    """The files and folders of the repository that a file's text points to."""
    for _, target, _ in _LINK.findall(text):
        if not _is_elsewhere(target):
            yield posixpath.normpath(posixpath.join(posixpath.dirname(origin), target))


def rewrite(page: str, origin: str, text: str) -> str:
    """The text of a file of the repository as that of a page of the site."""

    def moved(match: re.Match[str]) -> str:
        if _is_elsewhere(match[2]):
            return match[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(origin), match[2]))
        there = posixpath.relpath(site_page(path), posixpath.dirname(page))
        return f"{match[1]}{there}{match[3]}"

    # A picture leads to itself, so that it can be seen in its full size.
    return _PICTURE.sub(r"[\1](\2)", _LINK.sub(moved, text))


def source_pages(known: Mapping[str, str]) -> dict[str, str]:
    """The origins of the pages below source/ that are needed, by page; `known`: all others."""
    found: dict[str, str] = {}
    waiting = list(known.values())
    while waiting:
        origin = waiting.pop()
        if not origin.endswith(".md") or not (ROOT / origin).is_file():
            continue
        for path in targets(origin, (ROOT / origin).read_text(encoding="utf-8")):
            page = site_page(path)
            if page.startswith("source/") and page not in found and (ROOT / path).exists():
                found[page] = path
                waiting.append(path if path.endswith(".md") else f"{path}/README.md")
    return found


def source_page(path: str) -> str:
    """The Markdown of the page that shows a file or a folder of the repository."""
    place = ROOT / path
    if place.is_dir():
        if (place / "README.md").is_file():
            return (place / "README.md").read_text(encoding="utf-8")
        names = sorted(f"{each.name}/" if each.is_dir() else each.name for each in place.iterdir())
        return "\n".join([f"# {path}", "", *(f"- `{name}`" for name in names)])
    text = place.read_text(encoding="utf-8")
    if path.endswith(".md"):
        return text
    language = _LANGUAGES.get(place.suffix, "text")
    return f"# {path}\n\n````{language}\n{text}\n````\n"
