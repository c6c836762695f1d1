"""`latecomer doctor`: what works here, and what to do about the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from ..base.invocation import called
from .options import Json

if TYPE_CHECKING:
    from ..lab.bench.checks import Finding


def doctor(as_json: Json = False) -> int:
    """Check what works on this machine, and name the remedy for the rest.

    Without what is optional, only what its remedy names does not work.
    The exit code is 0 if a benchmark can be run here.

    Example: latecomer doctor
    """
    from ..base.output import print_json
    from ..lab.bench.checks import can_bench, findings

    found = findings()
    ready = can_bench(found)
    if as_json:
        print_json({"ready": ready, "findings": [asdict(finding) for finding in found]})
    else:
        print(_text(found, ready))
    return 0 if ready else 1


def _text(found: Sequence[Finding], ready: bool) -> str:
    lines = [line for finding in found for line in _lines(finding)]
    verdict = f"ready: `{called()} bench` can run here" if ready else "not ready for a benchmark"
    return "\n".join([*lines, *_launchers(found), verdict])


def _launchers(found: Sequence[Finding]) -> list[str]:
    """Tell whether `latecomer run` works, for those who only want that."""
    from ..lab.bench.checks import can_run

    verb = f"`{called()} run -- mpirun ...`"
    if able := can_run(found):
        return [f"ready: {verb} can run here, for programs of {' and '.join(able)}"]
    return [f"not ready for {verb}: it needs an MPI library and the drop-in library"]


def _lines(finding: Finding) -> list[str]:
    state = "ok" if finding.ok else "optional" if finding.optional else "missing"
    lines = [f"{state:9}{finding.name:24}{finding.text}"]
    return lines if finding.ok else [*lines, f"{'':9}-> {finding.remedy}"]
