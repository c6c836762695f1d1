"""Readers of foreign bytes in Python, by name: pytest replays their corpus and changes of it, and
evidence/fuzz.py runs them under Atheris.

Each refuses bytes by an error that says what is wrong and what is right, or has a result.
"""

import json
import os
import pickle
import resource
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from latecomer.atlas import file as atlas
from latecomer.atlas.figures import figures
from latecomer.base.errors import UserError
from latecomer.base.printable import plain
from latecomer.cli import _OF_CORE
from latecomer.command.declare import UsageError, options_of, parameters
from latecomer.command.parse import read as read_words
from latecomer.core import networks, registry
from latecomer.core.compiled import core
from latecomer.lab import rules
from latecomer.lab.calibrate import measured
from latecomer.lab.cluster import spec
from latecomer.lab.export.forms import FORMS, export
from latecomer.lab.options.arrivals import Pattern, read_delays
from latecomer.lab.options.choices import parse_numbers, read_whole
from latecomer.lab.options.choose import choose_delays, choose_placement
from latecomer.lab.results import samples
from latecomer.lab.tune.journal import Journal
from latecomer.report.analysis.answer import answer_of, facts
from latecomer.report.analysis.lateness import analyse
from latecomer.report.analysis.page import page, remarks
from latecomer.report.trace import TraceError, plain_pickle, read
from latecomer.report.trace.about import About, about
from latecomer.report.watch.watcher import Watcher
from latecomer.verbs.commands import COMMANDS
from trace_helpers import HOSTILE

CORPUS = Path(__file__).parents[1] / "fuzz" / "corpus"
BESIDE = Path(__file__).parent / "corpus"  # traces of two ranks and three calls
MOST_S = 1.0  # of CPU time, for an input
MOST_TIMES, FREE_BYTES = 10, 128 << 20  # of memory, for an input


def outcome(folder, draw):
    """Read, analyse and draw; any error but a named one is pytest's to show."""
    try:
        trace = read(folder)
    except TraceError as error:
        told = str(error)
        told.encode("utf-8")
        if str(folder) not in told or "\x1b" in told:
            raise AssertionError(told) from error
        return
    found = analyse(trace)
    told = remarks(found)
    "".join(told).encode("utf-8")
    if found.groups and draw:
        known = facts(found)
        text = page(found, known, answer_of(known), About(), None, {})
        text.encode("utf-8")
        assert "<script>alert" not in text
        assert "\x1b" not in text


def _trace(path):
    folder = path.parent if path.suffix != ".evt" else path.parents[1]
    outcome(folder, path.stat().st_size % 5 == 0)


def _watched(path):
    with Watcher(path.parent, clock=lambda: 0.0, calendar=lambda: 0.0) as watcher:
        for _ in range(2):
            watcher.look()


def _atlas(path):
    figures(atlas.read(path), "", "")


def _rules(path):
    file = rules.read(path)
    for entries in file.collectives.values():
        for entry in entries:
            ", ".join(map(rules.in_words, entry["rules"]))
    rules.explain(file, rules.Question("allreduce", 4, 1 << 16, 0.01))
    for form in FORMS.values():
        if form.library != "MPICH":
            export(file, form, 1.0, 1)


def _mpich_table(path):
    one = {"rules": [{"alg": "ring"}]}
    content = {"rule_file_version": 1, "module": "latecomer", "collectives": {"allreduce": [one]}}
    own = path.with_name("rules.json")
    own.write_text(json.dumps(content))
    export(rules.read(own), FORMS["mpich-csel"], 0.0, 1, path)


def _network(path):
    networks.brief(networks.load(path).text)


def _journal(path):
    Journal(path, {"ranks": 4}).add("cell", 1)


def _samples(path):
    samples.read(path).complete()


def _words(path):
    """The words of a command line, one a line, read as every command's."""
    words = os.fsdecode(path.read_bytes()).split("\n")
    for declared, taken in VERBS:
        try:
            values = read_words(declared, words)
            if taken and values is not None:
                taken(**values)
        except (UsageError, UserError) as error:  # noqa: PERF203
            plain(str(error))


VERBS = [(parameters(verb), options_of(verb)) for _, verb in COMMANDS.verbs()]
VALUES = (
    spec.parse_rate, spec.parse_bytes, spec.parse_skew, networks.chosen,
    lambda text: core.parse_bytes("--bytes", text),
    lambda text: core.parse_seconds("--delay", text),
    lambda text: registry.check_choice("allreduce", text),
    lambda text: choose_placement(4, None, text),
    lambda text: choose_delays(text, Pattern("onelate")),
    lambda text: Pattern(text).iterations(4, [0.001], 3, 1) if ":" not in text else None,
    lambda text: parse_numbers("--ranks", text, read_whole, doubling=False),
    lambda text: parse_numbers("--count", text, core.parse_count, doubling=True),
)  # fmt: skip


def _values(path):
    """The value of an option or of an environment variable."""
    text = os.fsdecode(path.read_bytes()).replace("\0", "")
    for each in VALUES:
        try:
            each(text)
        except Exception as error:  # noqa: PERF203
            said(error)
    for name in (networks.VARIABLE, "XDG_CONFIG_HOME", "COLUMNS"):
        before = os.environ.pop(name, None)
        os.environ[name] = text
        try:
            networks.chosen("")
        except Exception as error:
            said(error)
        finally:
            os.environ.pop(name)
            if before is not None:
                os.environ[name] = before


def said(error):
    """The words of a refusal; raises any other error."""
    told = str(error)
    if isinstance(error, OSError) or (isinstance(error, TypeError) and _OF_CORE in told):
        return  # the command says which file, or that a word is no text
    named = isinstance(error, (UserError, UsageError))
    if not named and not (isinstance(error, ValueError) and "right would be" in told):
        raise error
    plain(told).encode()


@dataclass(frozen=True)
class Reader:
    """The name that the bytes get, the function that reads it, and files that lie beside it."""

    file: str
    read: Callable[[Path], object] = _trace
    beside: str = ""  # a folder

    def __call__(self, folder: Path, data: bytes, *, limits: bool = False) -> None:
        """Raises what is no refusal, and AssertionError for what takes too much."""
        path = folder / self.file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        begin, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        try:
            self.read(path)
        except Exception as error:
            said(error)
        took = time.process_time() - begin
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before  # KiB
        most = MOST_TIMES * len(data) + FREE_BYTES
        assert not limits or (grown << 10 <= most and took <= MOST_S), f"{took} s, {grown} KiB"

    def folder(self, at: Path) -> Path:
        """A folder for it, with what lies beside."""
        if self.beside:
            shutil.copytree(BESIDE / self.beside, at, dirs_exist_ok=True)
        return at


READERS = {
    "about": Reader("run.json", lambda path: about(path.parent)),
    "arrivals": Reader("arrivals.csv", lambda path: read_delays(path, 3)),
    "atlas": Reader("atlas.parquet", _atlas),
    "calibration": Reader("samples.jsonl", measured.read),
    "flight_json": Reader("nccl_trace_rank_1.json", beside="flight_json"),
    "flight_pickle": Reader("nccl_trace_rank_1", beside="flight_pickle"),
    "inspector": Reader("gpu0-pid101.jsonl", beside="inspector"),
    "journal": Reader("journal", _journal),
    "mpich_table": Reader("libmpi.so.12", _mpich_table),
    "network_file": Reader("network", _network),
    "nsight": Reader("report1.sqlite"),
    "otf2_anchor": Reader("traces.otf2", beside="otf2"),
    "otf2_definitions": Reader("traces.def", beside="otf2"),
    "otf2_events": Reader("traces/0.evt", beside="otf2"),
    "profiler": Reader("rank1.json", beside="profiler"),
    "rules_file": Reader("rules.json", _rules),
    "samples": Reader("samples.jsonl", _samples),
    "table_csv": Reader("calls.csv"),
    "table_jsonl": Reader("calls.jsonl"),
    "table_parquet": Reader("calls.parquet"),
    "trace_file": Reader("rank-1.trace", beside="trace"),
    "value": Reader("value", _values),
    "watch": Reader("rank-1.trace", _watched, beside="trace"),
    "words": Reader("words", _words),
}


# ---- changes of bytes


BYTES = np.frombuffer(b"\0\x01 \n\"'\\{}[]:,-+.0123456789eEnatruf\x7f\x80\xc3\xff\xd8", np.uint8)
WRONG = (None, True, -1, 0, 0.5, 1e308, float("nan"), float("-inf"), 1 << 70, "", "x", "7", "\ud800",
         HOSTILE, [], {}, [[1, "2", None]], "9" * 400, [[]] * 9, {"a": {"a": {}}}, "@deep")  # fmt: skip

DEEP = b'"@deep"'  # stands for more lists in each other than a stack has room for


def structure(value, rng, chance):
    """The value with some of its parts replaced by others, left out or repeated."""
    if rng.random() < chance:
        return WRONG[rng.integers(len(WRONG))]
    if isinstance(value, dict):
        return {(HOSTILE if rng.random() < chance / 4 else key): structure(each, rng, chance)
                for key, each in value.items() if rng.random() >= chance}  # fmt: skip
    if isinstance(value, list):
        return [structure(each, rng, chance) for each in value
                for _ in range(1 + (rng.random() < chance))]  # fmt: skip
    return value


def damaged(raw, rng):
    """The bytes with some changed, inserted, doubled, left out, or with the end cut off."""
    raw = bytearray(raw)
    for _ in range(int(rng.integers(1, 6))):
        at, length = int(rng.integers(len(raw) + 1)), int(rng.choice([1, 1, 2, 8, 64, 700]))
        kind = rng.integers(6)
        if kind == 0:
            raw[at : at + length] = b""
        elif kind == 1:
            raw[at:at] = raw[at : at + length]
        elif kind == 2:
            raw[at : at + length] = rng.choice(BYTES, length).tobytes()
        elif kind == 3:
            raw[at : at + 1] = rng.choice(BYTES, 1).tobytes()
        elif kind == 4:
            raw[at:at] = rng.choice(BYTES, length).tobytes()
        elif rng.random() < 0.2:
            del raw[at:]
    return bytes(raw)


def changed(data, rng):
    """Damaged bytes; of JSON, lines of it and pickles as often with other values in them."""
    for change in (_of_json, _of_lines, _of_pickle) if rng.random() < 0.5 else ():
        chance = float(rng.choice([0.003, 0.03, 0.2]))
        with suppress(ValueError, RecursionError):
            raw = change(data, lambda value, most=chance: structure(value, rng, most))
            return raw.replace(DEEP, b"[" * 50_000)
    if rng.random() < 0.02:
        at, length = int(rng.integers(len(data) + 1)), int(rng.integers(1, 100))
        return data[:at] + data[at : at + length] * 3000 + data[at:]
    return damaged(data, rng)


def _of_lines(raw, change):
    made = [json.dumps(change(json.loads(line))) for line in raw.splitlines()]
    return "\n".join(made).encode("utf-8", "replace")


def _of_json(raw, change):
    return json.dumps(change(json.loads(raw))).encode("utf-8", "replace")


def _of_pickle(raw, change):
    return pickle.dumps(change(plain_pickle.load(raw)[0]), 4)
