"""All verbs, in the groups of the help. Each is a file of this folder, loaded when it is called."""

from __future__ import annotations

from ..command.declare import Group

_LAB = Group(
    "Run programs on an emulated cluster: N hosts on this machine, one switch, shaped links.",
    {name: f"latecomer.verbs.lab:{name}" for name in ("run", "check", "shell", "slurm")},
)
_RULES = Group(
    "Check, explain and export files that say which algorithm serves which calls.",
    {name: f"latecomer.verbs.rules:{name}" for name in ("check", "explain", "export")},
)
_ATLAS = Group(
    "Record the arrivals of programs without any names, and show what they were.",
    {name: f"latecomer.verbs.atlas:{name}" for name in ("record", "show")},
)
_GROUPS = {"atlas": _ATLAS, "lab": _LAB, "rules": _RULES}
_SECTIONS = {
    "See who is late": ("run", "watch", "report", "doctor"),
    "Measure": ("bench", "simulate", "calibrate", "tune", "rules", "lab"),
    "Research": ("algorithms", "atlas", "show", "verify", "reproduce"),
    "This command": ("completion", "where"),
}
COMMANDS = Group(
    "MPI collectives that stay fast when the ranks do not arrive together.",
    {
        name: _GROUPS.get(name) or f"latecomer.verbs.{name}:{name}"
        for names in _SECTIONS.values()
        for name in names
    },
    _SECTIONS,
)
