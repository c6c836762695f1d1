"""Puts the drop-in library into the ranks of a job, and not into its launcher."""

from __future__ import annotations

import itertools
import os
import re
import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ..base.clone import BUILD
from ..base.invocation import called
from . import mpi, processes, program
from .mpi import LaunchError

LIBRARY = "liblatecomer_preload.so"
WITH_MESSAGES = "liblatecomer_preload_messages.so"  # the same, and it traces messages
VARIABLE = "LD_PRELOAD"

_SANITIZER = re.compile(r"lib(clang_rt\.)?(a|hwa|l|m|t|ub)san")
_SANITIZER_OPTIONS = "ASAN_OPTIONS"
_ANY_ORDER = "verify_asan_link_order=0"
_SLURM = ("srun",)
_SRUN_VALUED = "ABCDFGJLMNSTUWbcdeimnopqrtwx"  # letters of options with a value
# Options without one, or whose value, if any, follows "=" (of srun 22.05; some of later ones).
_SRUN_FLAGS = re.compile(
    "bcast|compress|consolidate-segments|contiguous|disable-status|exact|exclusive|"
    "external-launcher|get-user-env|help|hold|immediate|interactive|kill-on-bad-exit|label|"
    "latecomer|multi-prog|nice|no-allocate|no-kill|oom-kill-step|overcommit|overlap|oversubscribe|"
    "preserve-env|propagate|pty|quiet|quit-on-interrupt|reboot|resv-ports|send-libs|spread-job|"
    "spread-segments|stepmgr|test-only|unbuffered|usage|use-min-nodes|verbose|version|whole|x11"
)
# Options of mpirun and mpiexec, of Open MPI and of Hydra, with a value, and with two.
_VALUED = re.compile(
    "am|app|bind-to|binding|bootstrap|bootstrap-exec|c|cartofile|cf|configfile|cpu-list|cpu-set|"
    "cpus-per-proc|cpus-per-rank|debugger|default-hostfile|demux|display|envlist|errfile-pattern|"
    "f|genvlist|gpus-per-proc|gtool|gtoolfile|H|hnp|host|hostfile|hosts|iface|launch-agent|"
    "launcher|launcher-exec|localhost|machinefile|map-by|max-restarts|max-vm-size|membind|"
    "memory-alloc-kinds|N|n|nameserver|np|npernode|npersocket|ompi-server|order-nodes|"
    "outfile-pattern|output|output-filename|path|perhost|personality|ppn|ppr|prefix|"
    "preload-files|prepend-pattern|rank-by|rankfile|rankmap|report-events|report-pid|report-uri|"
    "rf|rmk|runtime-options|stdin|timeout|topolib|tune|usize|wd|wdir|x|xml-file|xterm"
)
_TWO_VALUED = re.compile("env|genv|(g|o|prte|pmix)?mca")
_HYDRA_SIGNS = ("HYDRA", "Intel(R) MPI")


def library(*, messages: bool = False) -> Path:
    """The drop-in library; `messages`: the one that traces them. LaunchError: it is not there."""
    name = WITH_MESSAGES if messages else LIBRARY
    if found := program.find_built(name):
        path = found.resolve()
        if re.search(r"[\s:]", str(path)):
            raise LaunchError(
                "no process can preload the drop-in library: blanks and colons separate paths",
                path,
                "install latecomer, or put the clone, in another folder",
            )
        return path
    raise LaunchError(
        "the drop-in library is not built",
        name,
        f"{BUILD}; or name its folder in LATECOMER_PROGRAMS",
    )


def preloading(command: Sequence[str], path: Path, variables: Mapping[str, str]) -> list[str]:
    """`command`, which starts with a launcher, with the library and variables for its ranks.

    What the command or the environment preloads already, other tools and sanitizers, is preloaded
    too.
    """
    words, others = _take_settings(command, VARIABLE)
    settings = dict(variables)
    settings[VARIABLE] = _joined(path, others or [os.environ.get(VARIABLE, "")])
    if _needs_address_sanitizer(words):
        words, options = _take_settings(words, _SANITIZER_OPTIONS)
        options = options or [os.environ.get(_SANITIZER_OPTIONS, "")]
        settings[_SANITIZER_OPTIONS] = ":".join([*filter(None, options), _ANY_ORDER])
    return with_variables(_join_later(words, settings[VARIABLE]), settings)


def preloaded(*, messages: bool = False) -> str:
    """A value of LD_PRELOAD without blanks: the library, and what the environment preloads."""
    return _joined(library(messages=messages), [os.environ.get(VARIABLE, "")]).replace(" ", ":")


def _joined(path: Path, others: Sequence[str]) -> str:
    """A value of LD_PRELOAD: sanitizers, which must come first, the library, and the others."""
    files = [file for value in others for file in re.split(r"[: ]+", value) if file]
    ours = LIBRARY, WITH_MESSAGES, path.name
    files = [file for file in dict.fromkeys(files) if Path(file).name not in ours]
    first = [file for file in files if _SANITIZER.match(Path(file).name)]
    return " ".join([*first, str(path), *(file for file in files if file not in first)])


def _take_settings(command: Sequence[str], name: str) -> tuple[list[str], list[str]]:
    """The command without the launcher's options that set a variable for ranks, and its values."""
    if Path(command[0]).name in _SLURM:
        sets, joined = f"{name}=", [command[0]]
        found = []
        for component in _components(command[1:]):
            exported, others = _exports(component)
            found += [part.removeprefix(sets) for part in exported if part.startswith(sets)]
            kept = [part for part in exported if not part.startswith(sets)] or ["NONE"]
            joined += [":"] if len(joined) > 1 else []
            joined += [f"--export={','.join(kept)}", *others]
        return joined, found
    words: list[str] = []
    values: list[str] = []
    rest = list(command)
    while rest:
        word = rest.pop(0)
        if word in ("-x", "--x") and rest and rest[0].partition("=")[0] == name:
            _, given, value = rest.pop(0).partition("=")
            values.append(value if given else os.environ.get(name, ""))
        elif word in ("-genv", "-env", "--genv", "--env") and rest[:1] == [name] and len(rest) > 1:
            values.append(rest[1])
            del rest[:2]
        else:
            words.append(word)
    return words, values


def _join_later(command: Sequence[str], value: str) -> list[str]:
    """The same where ranks set the variable themselves, as in `env LD_PRELOAD=tool.so ./app`."""
    sets = f"{VARIABLE}="
    return [
        f"{sets}{_joined(Path(_own(value)), [word.removeprefix(sets), value])}"
        if word.startswith(sets)
        else word
        for word in command
    ]


def _own(value: str) -> str:
    return next(file for file in value.split(" ") if Path(file).name in (LIBRARY, WITH_MESSAGES))


def _needs_address_sanitizer(command: Sequence[str]) -> bool:
    """True if a program of the command is linked with it: it then insists on being the first."""
    files = (shutil.which(word) for word in command[1:] if not word.startswith("-"))
    return any(_names_sanitizer(Path(file)) for file in files if file)


def _names_sanitizer(file: Path) -> bool:
    try:
        with file.open("rb") as opened:
            return opened.read(4) == b"\x7fELF" and b"libasan.so" in opened.read(1 << 22)
    except OSError:
        return False


def with_variables(command: Sequence[str], settings: Mapping[str, str]) -> list[str]:
    """`command`, which starts with a launcher, with environment variables for its ranks.

    Programs that are separated by ":" all get them. srun's ranks get the variables from its own
    environment. Raises LaunchError for a launcher that is not known.
    """
    if Path(command[0]).name in _SLURM:
        return _of_slurm(command, settings)
    words, of_each_program = _words_for(command[0], settings)
    rest: list[str] = []
    for word in command[1:]:
        rest += [word, *words] if word == ":" and of_each_program else [word]
    return [command[0], *words, *rest]


def _of_slurm(command: Sequence[str], settings: Mapping[str, str]) -> list[str]:
    """srun takes one list of variables. It separates them by commas, which a value may hold: so
    ours come by srun's own environment, from which the list takes those that it names."""
    words = [command[0]]
    for part in _components(command[1:]):
        exported, rest = _exports(part)
        kept = list(itertools.takewhile(lambda each: each.upper() != "NONE", exported))
        takes_all = "ALL" in map(str.upper, kept)
        ours = [f"{name}={settings[name]}" if name in (VARIABLE, _SANITIZER_OPTIONS) else name
                for name in settings
                if not takes_all or name in (VARIABLE, _SANITIZER_OPTIONS)]  # fmt: skip
        words += [":"] if len(words) > 1 else []
        words += [f"--export={','.join([*kept, *ours])}", *rest]
    return words


def _components(words: Sequence[str]) -> Iterator[list[str]]:
    """The parts of srun's words for each component of a job, which colons separate."""
    part: list[str] = []
    for word in words:
        if word == ":":
            yield part
            part = []
        else:
            part.append(word)
    yield part


def _exports(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The variables that srun gives to ranks, as its option names them, and its other words."""
    exported = os.environ.get("SLURM_EXPORT_ENV") or "ALL"
    others: list[str] = []
    rest = list(words)
    while rest and rest[0].startswith("-") and rest[0] not in ("-", "--"):
        option = [rest.pop(0)]
        if _takes_next(option[0]) and rest:
            option.append(rest.pop(0))
        name, _, value = "=".join(option).partition("=")
        if name == "--export":
            exported = value
        else:
            others += option
    return exported.split(","), [*others, *rest]


def _takes_next(option: str) -> bool:
    """True if the value of srun's option is the word behind it."""
    if option.startswith("--"):
        return "=" not in option and not _SRUN_FLAGS.fullmatch(option[2:])
    valued = next((i for i, letter in enumerate(option) if letter in _SRUN_VALUED), None)
    return valued == len(option) - 1


def behind_options(command: Sequence[str]) -> list[str]:
    """The words of a command behind its launcher and the launcher's options."""
    rest = list(command[1:])
    slurm = Path(command[0]).name in _SLURM
    while rest and rest[0].startswith("-") and rest[0] not in ("-", "--"):
        option = rest.pop(0)
        del rest[: _takes_next(option) if slurm else _values(option.lstrip("-"))]
    return rest


def _values(name: str) -> int:
    """How many words behind this option of mpirun or mpiexec are its values."""
    return 2 if _TWO_VALUED.fullmatch(name) else 1 if _VALUED.fullmatch(name) else 0


def _words_for(launcher: str, settings: Mapping[str, str]) -> tuple[list[str], bool]:
    """The launcher's options, and whether each program of a command needs them."""
    version = processes.output_of([launcher, "--version"])
    if any(sign in version for sign in _HYDRA_SIGNS):
        return [word for name, value in settings.items() for word in ("-genv", name, value)], False
    if mpi.is_openmpi(version):
        return [
            word for name, value in settings.items() for word in ("-x", f"{name}={value}")
        ], True
    others = f"{shlex.quote(launcher)} ... env $({called()} run --preload-only) ./app"
    raise LaunchError(
        "unknown launcher",
        launcher,
        "known are mpirun and mpiexec of Open MPI, MPICH and Intel MPI, and srun; with any other: "
        f"{others}",
    )
