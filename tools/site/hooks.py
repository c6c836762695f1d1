"""What MkDocs asks while it builds the site: pages that are made now, navigation, links."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import links
import reference
from mkdocs.structure.files import File, Files

_ROOT = links.ROOT
_ORIGINS: dict[str, str] = {}  # file of the repository, by page of the site


def on_config(config: Any) -> Any:
    """Complete the navigation: the decisions, and pages that it does not name yet."""
    docs = Path(config["docs_dir"])
    config["nav"] = [_with_decisions(each, docs) for each in config["nav"]]
    named = set(_names(config["nav"]))
    rest = sorted(page.name for page in docs.glob("*.md") if page.name not in named)
    rest += sorted(f"howto/{page.name}" for page in (docs / "howto").glob("*.md")
                   if f"howto/{page.name}" not in named)  # fmt: skip
    for section in config["nav"]:
        if isinstance(section, dict) and "Explanation" in section:
            section["Explanation"] += rest
    return config


def _with_decisions(section: Any, docs: Path) -> Any:
    if section != {"Decisions": "decisions"}:
        return section
    pages = sorted(f"decisions/{page.name}" for page in (docs / "decisions").glob("*.md"))
    return {"Decisions": ["decisions/index.md", *pages]}


def _names(nav: Any) -> list[str]:
    if isinstance(nav, str):
        return [nav]
    values = nav.values() if isinstance(nav, dict) else nav
    return [name for each in values for name in _names(each)]


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are made from code, and the files that pages point to."""
    _ORIGINS.clear()
    _ORIGINS.update({f.src_uri: f"docs/{f.src_uri}" for f in files.documentation_pages()})
    for page, text in reference.pages().items():
        files.append(File.generated(config, page, content=text))
        _ORIGINS[page] = f"docs/{page}"
    _ORIGINS["changelog.md"] = "CHANGELOG.md"
    for page, origin in {"changelog.md": "CHANGELOG.md", **links.source_pages(_ORIGINS)}.items():
        files.append(File.generated(config, page, content=links.source_page(origin)))
        folder = (_ROOT / origin).is_dir()
        _ORIGINS[page] = f"{origin}/README.md" if folder else origin
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Let links of the repository lead to pages of the site."""
    where = page.file.src_uri
    return links.rewrite(where, _ORIGINS.get(where, f"docs/{where}"), markdown)
