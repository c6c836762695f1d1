"""Runs every suite and ends with one line `N passed, N failed[, N skipped][, N unsteady]`.

Usage: ./test [SUITE ...]; without names all of them. Exits 1 if anything failed. A suite that
prints nothing for so long that its deadline passes counts as failed. What each printed is in
build/tests/SUITE.log, for Python with the slowest tests.

What failed is run once more, alone. What passes then is unsteady: a defect of the test, which is
printed and counted, its first output is kept in build/unsteady/, and the run has not failed.

One lane compiles and computes at the lowest priority. Beside it the suites of MPI programs run, one
after the other, and then the Python tests, as many at a time as there are cores. Ranks yield while
they wait, and beside compilers took two to ten times as long, whatever the priorities; so they run
in the real-time class, where they yield to each other only, or, where that is not allowed (it is to
root), before everything else, alone.

TEST_UNTIL, seconds since 1970, is for machines with a deadline: suites that compile the code once
more, for an analyzer or a sanitizer, are left out if they have not begun by then, which is printed;
each counts as one skipped test.
"""

from __future__ import annotations

import functools
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
BIN = ROOT / ".venv" / "bin"
SOURCES = ["src", "include", "bench", "examples", "tests", "python", "evidence"]
PYTHON = ["python", "tests", "tools", "evidence", "examples", "packaging"]


@dataclass(frozen=True)
class Suite:
    """A command whose output tells how many tests passed, failed and were skipped."""

    name: str
    command: list[str]
    counts: str = "exit"  # gtest, pytest (`N passed`), or exit: one test, passed if it exits 0
    deadline_s: float = 1200
    needs: list[str] | None = None  # a command that builds it, run first
    compiles: bool = False  # the code once more: may be left out (TEST_UNTIL)
    place: str = "low"  # alone: before the others; first or low: lanes that run at once


@dataclass
class Counts:
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    unsteady: int = 0

    def add(self, other: Counts) -> None:
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.unsteady += other.unsteady


def cpp_files() -> list[str]:
    """The C and C++ files that are formatted and checked."""
    tops = [ROOT / top for top in SOURCES]
    found = [path for top in tops for kind in ("*.[ch]pp", "*.[ch]") for path in top.rglob(kind)]
    return [str(path) for path in sorted(found)]


# The sanitizers make tests 15 times slower, and must see each line, not each case. They leave out
# sweeps over simulated time, long series of calls, searches through all orders of events (random
# orders stay) and mistakes that the verifier must find; tests/reference/sweeps.hpp makes other
# sweeps shorter. The release build runs all of them.
SLOW = [
    "*DefaultSegments*", "*Choosing*", "*TimeOf*", "*MeanAfterLast*", "*AutoOf*", "*CostOf*",
    "*NoSimulatedRunBeatsIt*", "*.InAllOrdersOfEvents*", "*EveryMistakeIsDetected*",
    "ChooserSeries.*", "ChooserBlocks.CostLittle*", "Forecasts.MemoryIsBounded",
    "*Planning.CostsAsMuch*", "*Planning.MemoryIsThat*", "*Planning.LikeAnother*",
    "MakePlan.CountsBeyond32Bits", "*Circulant.*", "TwoTree.TakesTwoSteps*",
    "Forecast.AfterMany*", "Forecast.LatenessWithoutMemory*",
    "Forecast.ARankLateInEveryKthCall*",
    "*.GivesTheSameBitsEverywhere", "*SameBits.OnAllRanks*", "*.NeedsNoMoreStepsThanThePaper",
    "Rehearsal.IsAlwaysRightAndNeverStuck", "Rehearsal.TheChoiceEndsOnTheBest*",
    "Logs.EachIsAProgramThatTheVerifierAccepts",
]  # fmt: skip


# Of each allocation the sanitizer keeps two callers instead of thirty, which takes a sixth of the
# time; what it finds, and the stack of a wrong access, are the same.
SHORT_ORIGINS = "ASAN_OPTIONS=malloc_context_size=2"


def sanitized(preset: str, target: str) -> list[str]:
    return ["tools/build.sh", preset, target, str(os.cpu_count() or 1)]


def soaks() -> list[Suite]:
    """Long series of calls through the drop-in library, with sanitizers, on Debian's Open MPI."""
    if shutil.which("mpicc.openmpi") is None:
        return []
    soak = [str(BIN / "python"), "evidence/soak_dropin.py", "--calls", "3000", "--sanitizer"]
    return [Suite(f"dropin-{preset}", [*soak, preset], compiles=True)
            for preset in ("asan", "tsan")]  # fmt: skip


@functools.cache
def real_time() -> list[str]:
    """The words that start a program in the real-time class; none where that is not allowed."""
    start = ["chrt", "--rr", "1"]
    return start if execute([*start, "true"], 10)[0] == 0 else []


def ahead(name: str, command: list[str], deadline_s: float) -> Suite:
    """A suite of programs whose ranks yield while they wait, one program at a time."""
    first = real_time()
    place = "first" if first else "alone"
    return Suite(name, [*first, *command], "pytest", deadline_s, place=place)


def by_ctest(name: str) -> list[str]:
    return ["ctest", "--test-dir", "build/release", "--output-on-failure", "-V", "-R", f"^{name}$"]


def names_by_ctest(*choice: str) -> list[str]:
    """The tests that CTest knows, chosen by its options."""
    listing = subprocess.run(
        ["ctest", "--test-dir", "build/release", "-N", *choice],
        cwd=ROOT, capture_output=True, text=True, check=False,
    ).stdout  # fmt: skip
    return re.findall(r"Test\s+#\d+: (\S+)", listing)


# Python tests whose jobs mostly wait in the MPI library. Two of them at once, beside compilers,
# take two to twenty times the CPU time. Those that are not here also compute, or wait without
# yielding, for which the real-time class is no better.
JOBS = ["dropin", "dropin_begin", "dropin_belongings", "dropin_beside", "dropin_devices",
        "dropin_run", "dropin_trouble", "evidence_dropin", "observe_untouched", "overhead",
        "reproducible"]  # fmt: skip
JOB_FILES = [f"tests/python/test_{name}.py" for name in JOBS]


def mpi_suites() -> list[Suite]:
    """One for each family and number of ranks."""
    names = names_by_ctest("-E", "^(core|worlds.*)$")
    return [ahead(name, by_ctest(name), 400) for name in names]


def suites() -> list[Suite]:
    python = str(BIN / "python")
    core = "build/{}/tests/core_tests"
    jobs = str(os.cpu_count() or 1)
    pytest = [python, "-m", "pytest", "-q", "-rfEs", "--durations=100"]
    return [
        Suite("layers", [python, "tools/check_layers.py"]),
        Suite("sizes", [python, "tools/check_sizes.py"]),
        Suite("format", [str(BIN / "clang-format"), "--dry-run", "-Werror", *cpp_files()]),
        Suite("ruff", [str(BIN / "ruff"), "check", *PYTHON]),
        Suite("mypy", [str(BIN / "mypy")]),
        Suite("ruff-format", [str(BIN / "ruff"), "format", "--check", *PYTHON]),
        Suite("core", [core.format("release")], "gtest"),
        Suite("core-asan", ["env", SHORT_ORIGINS, core.format("asan"),
                            "--gtest_filter=-" + ":".join(SLOW)], "gtest",
              needs=sanitized("asan", "core_tests"), compiles=True),
        *(Suite(f"tidy_{n}", [python, "tools/tidy.py", "--part", f"{n}/2"], compiles=True)
          for n in (1, 2)),
        Suite("alone", [python, "tools/alone.py"], compiles=True),
        Suite("threads-tsan", ["build/tsan/tests/threads_tests"], "gtest",
              needs=sanitized("tsan", "threads_tests"), compiles=True),
        *(Suite(name, by_ctest(name)) for name in names_by_ctest("-R", "^worlds")),
        *soaks(),
        *mpi_suites(),
        ahead("jobs", [*pytest, *JOB_FILES], 1200),
        Suite("python", [*pytest, "-n", jobs, "--dist", "worksteal", "tests/python",
                         *(f"--ignore={file}" for file in JOB_FILES)], "pytest", place="first"),
    ]  # fmt: skip


def number(pattern: str, text: str) -> int:
    """The sum over all matches of the pattern's only group."""
    return sum(int(found) for found in re.findall(pattern, text))


def left_early(output: str) -> bool:
    """Tell whether a shard of GoogleTest's left in the middle, as by a signal."""
    begun, ended = (len(re.findall(rf"^\[=+\] {word}", output, re.M))
                    for word in ("Running ", ".* ran\\."))  # fmt: skip
    return ended < begun


SUMS = r"^(?:\d+: )?(?:=+ )?\d+ (?:passed|failed|skipped|error|deselected|xfailed|xpassed).*$"


def count(suite: Suite, code: int, output: str) -> Counts:
    """Read a suite's output; a non-zero exit is at least one failure."""
    if suite.counts == "exit":
        return Counts(int(code == 0), int(code != 0))
    if suite.counts == "gtest":
        counts = Counts(number(r"\[  PASSED  \] (\d+) test", output),
                        number(r"\[  FAILED  \] (\d+) test", output),
                        number(r"\[  SKIPPED \] (\d+) test", output))  # fmt: skip
        code = code or int(left_early(output))
    else:
        # Not in what tests print, as in "rank 1 failed in call 2"; ctest numbers its lines.
        sums = "\n".join(re.findall(SUMS, output, re.M))
        counts = Counts(number(r"(\d+) passed", sums),
                        number(r"(\d+) (?:failed|error)", sums),
                        number(r"(\d+) skipped", sums))  # fmt: skip
    if (code != 0 or counts.passed == 0) and counts.failed == 0:
        counts.failed = 1
    return counts


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    output: str
    cpu_s: float = 0  # user and system, with all the processes that were waited for


def wait(running: subprocess.Popen[bytes]) -> tuple[int, float]:
    """Exit code and CPU seconds; wait4 tells those of this program, not those of both lanes."""
    _, status, usage = os.wait4(running.pid, 0)
    running.returncode = os.waitstatus_to_exitcode(status)
    return running.returncode, usage.ru_utime + usage.ru_stime


RUNNING: set[int] = set()  # programs, each in a session of its own, which no terminal interrupts
STARTING = threading.Lock()  # never held by the main thread, in which signals are handled


def interrupted(number: int, _: object) -> None:
    """Ends what runs, and this program."""
    with STARTING:
        for group in tuple(RUNNING):
            with suppress(ProcessLookupError):
                os.killpg(group, signal.SIGTERM)
        os._exit(128 + number)


def execute(
    command: list[str], deadline_s: float, variables: dict[str, str] | None = None
) -> Ended:
    """Runs a command to its end. A command that prints nothing for so long has exit code 124: on a
    busy machine one that still prints is slow, and not stuck."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python"), **(variables or {})}
    try:
        with STARTING:
            running = subprocess.Popen(
                command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
            RUNNING.add(running.pid)
    except OSError as error:
        return Ended(127, f"{command[0]}: {error.strerror}")
    output = bytearray()
    with running:
        end = running.stdout.fileno() if running.stdout else -1
        while select.select([end], [], [], deadline_s)[0]:
            more = os.read(end, 1 << 16)
            if not more:
                break
            output += more
        else:
            os.killpg(running.pid, signal.SIGKILL)
            output += f"\nprinted nothing for {deadline_s:.0f} s, and was ended".encode()
        code, cpu_s = wait(running)
    RUNNING.discard(running.pid)
    code = 124 if code == -signal.SIGKILL else code
    return Ended(code, output.decode(errors="replace"), cpu_s)


def execute_in_shards(command: list[str], deadline_s: float) -> Ended:
    """A process a core, each with its share of the tests: GoogleTest's own variables say which."""
    shards = os.cpu_count() or 1

    def one(index: int) -> Ended:
        which = {"GTEST_TOTAL_SHARDS": str(shards), "GTEST_SHARD_INDEX": str(index)}
        return execute(command, deadline_s, which)

    with ThreadPoolExecutor(shards) as pool:
        codes, outputs, cpu_s = zip(*pool.map(one, range(shards)), strict=True)
    code = next(filter(None, codes), 0)  # that of a signal is below zero
    return Ended(code, "\n".join(outputs), sum(cpu_s))


def excerpt(output: str, most: int = 20000) -> str:
    """The end of a long output, after the GoogleTest cases in it that failed."""
    end = output[-most:]
    cases = re.findall(r"\[ RUN +\] (\S+)\n(.*?\[  FAILED  \] \1)", output[:-most], re.DOTALL)
    failed = [f"[ RUN      ] {name}\n{text}" for name, text in cases]
    # Our MPI programs say which check failed before the line that names the case.
    failed += re.findall(r"(?:^\S+:\d+: rank .*\n)*^FAILED .*$", output[:-most], re.M)
    return "\n".join([*(text[:most] for text in failed[:10]), end])


PRINTING = threading.Lock()


def once_more(suite: Suite, output: str) -> tuple[list[str], str]:
    """The command that runs what failed in a suite again, and what that is in words."""
    # Where a shard left early or a sanitizer spoke, not all that failed has a name.
    nameless = left_early(output) or re.search(r"(?:ERROR|WARNING): \w+Sanitizer", output)
    if suite.counts == "gtest" and not nameless:
        names = sorted(set(re.findall(r"\[  FAILED  \] ([\w/]+\.[\w/]+)", output)))
        if names:
            kept = [word for word in suite.command if not word.startswith("--gtest_filter=")]
            return [*kept, f"--gtest_filter={':'.join(names)}"], ", ".join(names)
    if "pytest" in suite.command:
        names = sorted(set(re.findall(r"^(?:FAILED|ERROR) (tests/.+?)(?: - .*)?$", output, re.M)))
        if names and all("::" in name for name in names):
            at = suite.command.index("pytest") + 1
            return [*suite.command[:at], "-q", "-rfEs", *names], ", ".join(names)
    return suite.command, suite.name


def run_again(suite: Suite, counts: Counts, output: str) -> str:
    """What failed is unsteady if it passes alone. Returns the output to show."""
    command, what = once_more(suite, output)
    code, second, _ = execute(command, suite.deadline_s)
    passed = count(suite, code, second)
    if passed.failed:
        return f"{output}\n== once more, alone:\n{second}"
    kept = keep("unsteady", suite, output)
    counts.unsteady, counts.failed = counts.failed, 0
    counts.passed += counts.unsteady
    return f"{output}\n== unsteady: {what}: passed alone; first output in {kept.relative_to(ROOT)}"


def keep(folder: str, suite: Suite, output: str) -> Path:
    """The file below build/ that holds the output."""
    file = ROOT / "build" / folder / f"{suite.name}.log"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(output)
    return file


FAILED: list[tuple[Suite, Counts, str]] = []


def deadline() -> float:
    """TEST_UNTIL; without it there is none."""
    until = os.environ.get("TEST_UNTIL", "inf")
    if until != "inf" and not (until.isascii() and until.isdecimal()):
        sys.exit(f"TEST_UNTIL: '{until}' is not usable; right would be seconds since 1970")
    return float(until)


def run(suite: Suite) -> Counts:
    if suite.compiles and time.time() > deadline():
        with PRINTING:
            print(f"== {suite.name}: left out, since TEST_UNTIL is over", flush=True)
        return Counts(skipped=1)
    begin = time.monotonic()
    priority = ["nice", "-n", "19"] if suite.place == "low" else []
    built = execute([*priority, *suite.needs], 1200) if suite.needs else Ended(0, "")
    code, output, cpu_s = built
    if code == 0:
        start = execute_in_shards if suite.counts == "gtest" else execute
        code, output, cpu_s = start([*priority, *suite.command], suite.deadline_s)
        cpu_s += built.cpu_s
    keep("tests", suite, output)
    counts = count(suite, code, output)
    took = time.monotonic() - begin
    with PRINTING:
        if counts.failed:
            print(excerpt(output))
            FAILED.append((suite, counts, output))
        elif counts.skipped:
            print("\n".join(line for line in output.splitlines() if "SKIPPED" in line))
        skipped = f", {counts.skipped} skipped" if counts.skipped else ""
        print(f"== {suite.name}: {counts.passed} ok, {counts.failed} not{skipped} "
              f"({took:.0f} s, {cpu_s:.0f} s of CPU)", flush=True)  # fmt: skip
    return counts


def run_lane(lane: list[Suite]) -> Counts:
    total = Counts()
    for suite in lane:
        total.add(run(suite))
    return total


def settle(total: Counts) -> None:
    """What failed is run once more, with nothing beside it."""
    for suite, counts, output in FAILED:
        failed, passed = counts.failed, counts.passed
        print(excerpt(run_again(suite, counts, output)), flush=True)
        total.failed += counts.failed - failed
        total.passed += counts.passed - passed
        total.unsteady += counts.unsteady


def choose(names: list[str]) -> list[Suite]:
    known = suites()
    for name in names:
        if name not in (suite.name for suite in known):
            all_names = ", ".join(suite.name for suite in known)
            sys.exit(f"suite: '{name}' is unknown; right would be one of {all_names}")
    return [suite for suite in known if not names or suite.name in names]


def main() -> int:
    deadline()  # an error of it at once
    (ROOT / "build").mkdir(exist_ok=True)
    chosen = choose(sys.argv[1:])
    places = ("alone", "first", "low")
    alone, first, low = ([each for each in chosen if each.place == at] for at in places)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, interrupted)
    with ThreadPoolExecutor(2) as pool:
        total = pool.submit(run_lane, alone).result()
        for counts in pool.map(run_lane, (first, low)):
            total.add(counts)
        pool.submit(settle, total).result()
    skipped = f", {total.skipped} skipped" if total.skipped else ""
    unsteady = f", {total.unsteady} unsteady" if total.unsteady else ""
    print(f"{total.passed} passed, {total.failed} failed{skipped}{unsteady}")
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
