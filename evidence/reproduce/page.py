"""A paper beside ours as one HTML page that needs nothing else."""

from __future__ import annotations

from collections.abc import Sequence

from latecomer.base import pages
from markupsafe import Markup

from . import report as reports
from .comparison import Comparison
from .picture import inline_svg
from .report import Report
from .sentences import about_fit


def page(report: Report) -> str:
    """The whole page."""
    facts = report.paper.facts
    return pages.page(
        __package__,
        title=f"latecomer: {report.paper.name}",
        report=report,
        url=facts["url"],
        plot=Markup(inline_svg(report)),
        lists=[
            ("Where we agree, where not", report.sentences()),
            ("Why", report.notes),
            ("The network", about_fit(report.fit)),
            ("Lost, so not here", facts["lost"]),
        ],
        tables=list(map(_table, reports.by_metric(report.rows))),
        used=f"{reports.footer(report)}; {report.used['command']}",
    )


def _table(rows: Sequence[Comparison]) -> tuple[str, list[str], list[pages.Row]]:
    """Caption, heads and rows."""
    return (
        reports.caption(rows),
        ["row", rows[0].source, "ours", "ratio", "lab", "how"],
        [
            pages.Row(
                [f"{row.number.row}, {row.number.column}"],
                [*reports.cells(row), row.how or row.reason],
            )
            for row in rows
        ],
    )
