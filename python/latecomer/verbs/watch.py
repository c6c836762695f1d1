"""`latecomer watch`: who is late in a job that runs."""

from __future__ import annotations

import json
import shlex
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ..base.errors import UserError
from ..base.invocation import called
from ..base.output import folded, say
from ..base.whole_files import check_apart, check_file, write_text
from ..command.declare import Seconds, argument
from .options import flag, option

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..report.watch.watcher import View, Watcher

LATE = 3  # the exit code of --once
_AGAIN_S = 0.1  # after which --once looks again if ranks seem to stand still
_REPEAT_S = 60.0  # after which a line that says the same is printed again

Folder = Annotated[
    Path, argument("FOLDER", "The folder of the trace; without --once it may come later.")
]
Interval = Annotated[
    Seconds, option("--interval", "TIME", "Look so often, as in 1, 500ms or 1m. The default is 1s.")
]
Once = Annotated[
    bool,
    flag("--once", "Look once. The exit code is 3 if a rank is late or a call does not end, "
         "else 0."),
]  # fmt: skip
JsonLines = Annotated[bool, flag("--json", "One object a line for each look.")]
Prometheus = Annotated[
    Path | None,
    option("--prometheus", "FILE", "Keep this file in Prometheus's text format, for the textfile "
           "collector of its node exporter. It is replaced whole."),
]  # fmt: skip


def watch(
    folder: Folder,
    interval: Interval = Seconds(1.0),  # noqa: B008 - a number
    once: Once = False,
    as_json: JsonLines = False,
    prometheus: Prometheus = None,
) -> int:
    """Tell who is late now in a running job that traces into FOLDER, and which calls hang.

    The job needs LATECOMER_TRACE=FOLDER, or latecomer run --trace. Nothing is added to it: the
    files of its ranks are read as they grow. A rank is named by the last 10 seconds, by the
    report's rule, where chance does not explain it. Ends when all ranks have ended.

    Example: latecomer watch traces
    """
    from ..report.trace.native import fits
    from ..report.watch.watcher import Watcher

    if folder.exists() and not folder.is_dir():
        raise UserError("no folder of a trace", folder, "name the folder of the job's trace")
    if prometheus:
        check_file("--prometheus", prometheus)
        if prometheus.resolve().parent == folder.resolve() and fits(prometheus.name):
            raise UserError("a result over a file that is read", prometheus, "name another file")
        if folder.is_dir():
            check_apart([prometheus], [each for each in folder.iterdir() if fits(each.name)])
    with Watcher(folder) as watcher:
        if once:
            return _once(watcher, folder, as_json, prometheus)
        with _shown(folder, as_json) as show:
            for view in _looks(watcher, interval):
                show(view)
                _write(view, prometheus)
    if not as_json:
        say(f"the whole run: {called()} report {shlex.quote(str(folder))}")
    return 0


def _once(watcher: Watcher, folder: Path, as_json: bool, prometheus: Path | None) -> int:
    view = watcher.look()
    if view.stuck or not view.now:  # or its calendar is behind: then the job is seen to go on
        time.sleep(_AGAIN_S)
        view = watcher.look()
    if not view.seen.ranks:
        raise UserError("no trace of a job in the folder", folder,
                        "run the job with LATECOMER_TRACE and this folder")  # fmt: skip
    _write(view, prometheus)
    if as_json:
        _print_json(view)
    else:
        from ..report.watch.sentences import sentence, stuck_lines

        for line in [sentence(view), *stuck_lines(view)]:
            print(folded(line, sys.stdout, 2))
    return LATE if view.late or view.stuck else 0


def _looks(watcher: Watcher, interval: float) -> Iterator[View]:
    """Look until no rank goes on; at most half of the time, where a look takes long."""
    while True:
        begin = time.monotonic()
        view = watcher.look()
        yield view
        if view.over:
            return
        took = time.monotonic() - begin
        time.sleep(max(interval - took, took))


def _write(view: View, prometheus: Path | None) -> None:
    if prometheus:
        from ..report.watch.prometheus import text

        write_text(prometheus, text(view))


def _print_json(view: View) -> None:
    from ..report.watch.sentences import value

    print(json.dumps(value(view)), flush=True)


@contextmanager
def _shown(folder: Path, as_json: bool) -> Iterator[Callable[[View], None]]:
    """The functions that are called with each look."""
    if as_json:
        yield _print_json
    elif not sys.stdout.isatty():
        if not folder.is_dir():
            say(f"{folder} is not there yet: waiting for the job to make it")
        yield _Lines()
    else:
        from rich.live import Live

        from ..base.output import console
        from ..report.watch.screen import screen

        terminal = console()
        with Live(console=terminal, auto_refresh=False, screen=False) as live:
            yield lambda view: live.update(screen(view, str(folder), *terminal.size), refresh=True)


class _Lines:
    """A line where the answer changes, and now and then."""

    def __init__(self) -> None:
        self._state: object = None
        self._told = float("-inf")

    def __call__(self, view: View) -> None:
        """Print what is new."""
        from ..report.watch.sentences import clock_of, sentence, stuck_lines

        now, seen, waits = view.now, view.seen, [call.waits for call in view.stuck]
        of_now = (now.was, now.facts.unknown) if now else None
        state = seen.ranks, seen.missing, view.over, view.late, of_now, waits
        if state == self._state and view.real - self._told < _REPEAT_S:
            return
        self._state, self._told = state, view.real
        at = clock_of(view.real)
        print(f"{at} {sentence(view)}", flush=True)
        for line in stuck_lines(view):
            print(f"{at}   {line}", flush=True)
