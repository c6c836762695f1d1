"""A paper beside ours as one HTML page that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from latecomer.base import pages as style

from . import report as reports
from .comparison import Comparison
from .picture import inline_svg
from .report import Report
from .sentences import about_fit


def page(report: Report) -> str:
    """The whole page."""
    return "\n".join(_page(report)) + "\n"


def _page(report: Report) -> Iterator[str]:
    title = f"latecomer: {report.paper.name}"
    yield '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{style.POLICY}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{escape(title)}</title>\n<style>{style.STYLE}</style>\n</head>\n<body>"
    facts = report.paper.facts
    link = f'<a href="{escape(facts["url"])}">{escape(facts["url"])}</a>'
    yield f"<h1>{escape(title)}</h1>\n<p class=lead>{escape(report.title)}, {link}</p>"
    yield f"<p class=lead>{escape('; '.join(report.about))}</p>"
    yield from _list("Where we agree, where not", report.sentences())
    yield f"<figure>{inline_svg(report)}</figure>"
    yield from _list("Why", report.notes)
    yield from _list("The network", about_fit(report.fit))
    yield from _list("Lost, so not here", facts["lost"])
    yield "<h2>All numbers</h2>"
    for rows in reports.by_metric(report.rows):
        yield from _table(rows)
    used = f"{reports.footer(report)}; {report.used['command']}"
    yield f"<p class=lead>{escape(used)}</p>"
    yield "</body>\n</html>"


def _list(title: str, lines: Sequence[str]) -> Iterator[str]:
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    yield f"<h2>{escape(title)}</h2>\n<ul class=findings>{items}</ul>"


def _table(rows: Sequence[Comparison]) -> Iterator[str]:
    caption = reports.caption(rows)
    columns = (rows[0].source, "ours", "ratio", "lab", "how")
    head = "".join(f"<th scope=col>{name}</th>" for name in ("row", *columns))
    yield f"<div class=wide><table><caption>{escape(caption)}</caption>"
    yield f"<thead><tr>{head}</tr></thead>"
    for row in rows:
        cells = (*reports.cells(row), row.how or row.reason)
        values = "".join(f"<td>{escape(cell)}</td>" for cell in cells)
        place = escape(f"{row.number.row}, {row.number.column}")
        yield f"<tr><th scope=row>{place}</th>{values}</tr>"
    yield "</table></div>"
