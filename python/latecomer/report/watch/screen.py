"""The screen of `latecomer watch` on a terminal: the answer, who causes and suffers, what hangs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..analysis.wording import percent
from ..trace.model import ranks_said
from .late import Now
from .sentences import clock_of, hosts_of, lasted, sentence, stuck_lines
from .watcher import View

_CAUSED, _WAITS = "dark_orange", "dodger_blue1"  # told apart by all kinds of colour blindness
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_ROWS, _OTHER_LINES = 16, 13  # at most; lines that are no rows
_PAST = 3  # times that are shown


@dataclass(frozen=True)
class _Row:
    name: str
    host: str
    caused: float
    waits: float
    late: bool


def screen(view: View, folder: str, width: int, height: int) -> RenderableType:
    """All of it, for a terminal of so many columns and lines."""
    seen, now = view.seen, view.now
    parts: list[RenderableType] = [_head(view, folder), "", _answer(view)]
    if now and not view.over:
        room = max(2, min(_ROWS, height - _OTHER_LINES - len(view.stuck)))
        parts += ["", _table(view, now, room, width)]
    if view.stuck:
        parts += ["", *(Text(line, style="" if line.startswith(" ") else "bold")
                        for line in stuck_lines(view))]  # fmt: skip
    if view.times:
        parts += ["", *_past(view)]
    parts.append(Text("Ctrl-C ends the watch, not the job" if not view.over and seen.ranks else "",
                      style="dim"))  # fmt: skip
    return Group(*parts)


def _head(view: View, folder: str) -> Text:
    seen = view.seen
    words = [f"{clock_of(view.real)}", folder]
    if seen.ranks:
        hosts = len(set(hosts_of(seen)))
        words.append(f"{seen.ranks} ranks on {hosts} host{'s' if hosts > 1 else ''}")
    if seen.ended:
        words.append(f"{len(seen.ended)} ended")
    return Text("  ".join(words), style="dim", no_wrap=True, overflow="ellipsis")


def _answer(view: View) -> Text:
    colour = "bold red" if view.late or view.stuck else "bold"
    return Text(sentence(view), style=colour)


def _table(view: View, now: Now, room: int, width: int) -> Table:
    rows, bar = list(_rows(view, now)), max(2, min(24, (width - 38) // 2))
    shown = sorted(rows, key=lambda row: (not row.late, -row.caused, -row.waits))[:room]
    most = max((max(row.caused, row.waits) for row in rows), default=0.0)
    table = Table(box=None, pad_edge=False, padding=(0, 1))
    by_host = now.facts.host
    table.add_column("" if by_host else "rank", justify="right", no_wrap=True)
    table.add_column("host", no_wrap=True, overflow="ellipsis", max_width=12 if width >= 60 else 8)
    for title, style in (("causes", _CAUSED), ("waits", _WAITS)):
        table.add_column(title, min_width=bar, header_style=style, style=style, no_wrap=True)
        table.add_column("", justify="right", no_wrap=True, min_width=5)
    for row in shown:
        table.add_row(row.name, row.host, _bar(row.caused, most, bar), percent(row.caused),
                      _bar(row.waits, most, bar), percent(row.waits),
                      style="bold" if row.late else "")  # fmt: skip
    if rest := len(rows) - len(shown):
        table.add_row("", f"and {rest} more")
    table.caption = f"last {now.window:.0f} s; causes: of the time of all ranks, waits: of its own"
    table.caption_justify = "left"
    return table


def _rows(view: View, now: Now) -> Iterator[_Row]:
    hosts = hosts_of(view.seen)
    if not now.facts.host:
        for rank, host in enumerate(hosts):
            yield _Row(f"{rank}", host, now.caused[rank], now.waits[rank], rank in view.late)
        return
    for host in dict.fromkeys(hosts):
        own = [rank for rank, each in enumerate(hosts) if each == host]
        yield _Row("", host, sum(now.caused[rank] for rank in own),
                   sum(now.waits[rank] for rank in own) / len(own),
                   any(rank in view.late for rank in own))  # fmt: skip


def _bar(part: float, most: float, width: int) -> str:
    eighths = round(8 * width * part / most) if most > 0 else 0
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def _past(view: View) -> Iterator[Text]:
    """Who was late before."""
    for each in list(view.times)[-_PAST:][::-1]:
        yield Text(f"{clock_of(each.begin)} to {clock_of(each.last)}: {ranks_said(each.late)} late "
                   f"for {lasted(each)}", style="dim")  # fmt: skip
