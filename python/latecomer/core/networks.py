"""Choice of the network: named, from the environment, calibrated, or built in.

A saved network is a text file: comments that say where it was measured, as `# place: lab
8x200mbit`, and one line such as `alpha=50us,beta=8ns`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..base import regular_files
from ..base.errors import UserError
from ..base.printable import HALVES
from ..base.units import seconds, size
from ..base.variables import variable
from ..base.whole_files import write_text
from .compiled import core

VARIABLE = "LATECOMER_NETWORK"
BUILT_IN = "built-in"
_ALWAYS = ("alpha", "beta", "gamma")
_PER_BYTE = ("beta", "gamma", "local_beta", "memory")  # seconds a byte
_BYTES = ("eager", "buffer", "burst")
_MOST_BYTES = 64 << 10  # of a file, as in the library: /dev/zero has no end


class NetworkError(UserError, ValueError):
    """A network that cannot be read."""


@dataclass(frozen=True)
class Named:
    """A network's costs, as simulate and the library read them, and where they come from."""

    text: str  # "": those built in
    source: str

    @property
    def costs(self) -> core.Network:
        """The network as the core's object. Raises ValueError."""
        return core.Network(self.text)


UNNAMED = Named("", "built in")


@dataclass(frozen=True)
class Saved:
    """A network in a file, and the file's remarks on it: place, ranks, mpi, date."""

    path: Path
    text: str
    facts: Mapping[str, str]

    @property
    def source(self) -> str:
        """The place, MPI library and date of the calibration, for people."""
        known = [self.facts[name] for name in ("place", "mpi", "date") if name in self.facts]
        return f"calibrated on {', '.join(known)} ({self.path})" if known else str(self.path)


def default_path() -> Path:
    """The file in which calibrate saves the network, and from which others read it.

    Raises NetworkError where nothing says which folder that is.
    """
    config = variable("XDG_CONFIG_HOME") or ""
    try:
        folder = Path(config) if config.startswith("/") else Path.home() / ".config"
    except RuntimeError:
        raise NetworkError("no home folder", "HOME is not set", "set XDG_CONFIG_HOME") from None
    return folder / "latecomer" / "network"


def _calibrated() -> Saved | None:
    """The network that calibrate has saved, if there is one. Raises NetworkError."""
    try:
        path = default_path()
    except NetworkError:
        return None
    return load(path) if os.access(path, os.F_OK) else None


def load(path: Path) -> Saved:
    """The network in a file. Raises NetworkError."""
    try:
        data = regular_files.read(path, _MOST_BYTES + 1)
        lines = [line.strip() for line in data.decode("utf-8-sig").splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        what = f"cannot read the network ({getattr(error, 'strerror', None) or 'no text'})"
        raise NetworkError(what, path, "name a file that `latecomer calibrate` wrote") from None
    if len(data) > _MOST_BYTES:
        what = f"a network's file of more than {_MOST_BYTES} bytes"
        raise NetworkError(what, path, "name a file that `latecomer calibrate` wrote")
    texts = [line for line in lines if line and not line.startswith("#")]
    if len(texts) != 1:
        what = f"{len(texts)} lines with costs in a network's file"
        raise NetworkError(what, path, "leave one, as in alpha=50us,beta=8ns")
    comments = [line.lstrip("# ").partition(": ") for line in lines if line.startswith("#")]
    facts = {name: value for name, colon, value in comments if colon}
    return Saved(path, _checked(texts[0], str(path)), facts)


def save(path: Path, text: str, facts: Mapping[str, str]) -> None:
    """Write a network with remarks on it, at once or not at all. Raises NetworkError."""
    said = "".join(f"# {name}: {value}\n" for name, value in facts.items())
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, f"{said}{text}\n")
    except OSError as error:
        what = f"cannot save the network ({error.strerror})"
        raise NetworkError(what, path, "name another file by --save, or use --no-save") from None


def chosen(given: str) -> Named:
    """The network of an option: costs, @FILE, built-in; or if it is empty the default one.

    That is the one in LATECOMER_NETWORK, else the calibrated one, else the built-in one. Raises
    NetworkError, ValueError.
    """
    if given:
        return _named(given, "as named")
    if found := variable(VARIABLE):
        return _named(found, VARIABLE)
    saved = _calibrated()
    return Named(saved.text, saved.source) if saved else UNNAMED


def of_place(place: str, ranks: int, family: str, assumed: Named) -> Named:
    """The network of plans at a place: LATECOMER_NETWORK, else the calibrated one, else `assumed`.

    A network that was calibrated elsewhere, or with another MPI library, does not count.
    """
    if found := variable(VARIABLE):
        return _named(found, VARIABLE)
    if not (saved := _calibrated()):
        return assumed
    here = (place, str(ranks)) == (saved.facts.get("place"), saved.facts.get("ranks"))
    if here and saved.facts.get("mpi", "").split(" ")[0] == family:
        return Named(saved.text, saved.source)
    return Named(assumed.text, f"{assumed.source}, since {saved.path} is not of this place")


def brief(text: str) -> str:
    """The costs of a network for people: alpha, beta, gamma, and what is not as built in.

    As in `alpha 50 µs, beta 8 ns/B, gamma 0.1 ns/B, ports 2`.
    """
    usual, told = _costs(core.Network().text), _costs(core.Network(text).text)
    shown = {name: value for name, value in told.items()
             if name in _ALWAYS or value != usual.get(name)}  # fmt: skip
    return ", ".join(f"{name} {_amount(name, value)}" for name, value in shown.items())


def told(text: str) -> str:
    """A text that holds costs, or costs and their source in brackets, with the costs for people."""
    costs, bracket, source = text.partition(" (")
    return f"{brief(costs)}{bracket}{source}" if costs.startswith("alpha=") else text


def _costs(text: str) -> dict[str, str]:
    return dict(part.split("=", 1) for part in text.split(","))


def _amount(name: str, value: str) -> str:
    """A value with its unit."""
    if value.endswith("s") and name != "ports":
        return seconds(float(value[:-1]), 4) + ("/B" if name in _PER_BYTE else "")
    return size(float(value)) if name in _BYTES else value


def _named(text: str, source: str) -> Named:
    if text == BUILT_IN:
        return UNNAMED
    if text.startswith("@"):
        saved = load(Path(text[1:]))
        return Named(saved.text, saved.source)
    if source == VARIABLE:
        return Named(_checked(text, source), source)
    core.Network(text.translate(HALVES))  # raises if it cannot be read
    return Named(text, source)


def _checked(text: str, where: str) -> str:
    try:
        core.Network(text.translate(HALVES))
    except ValueError as error:
        what = "not a network's costs"
        raise NetworkError(what, where, str(error)) from None
    return text
