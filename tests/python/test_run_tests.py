"""The runner of all suites: what failed is run again alone, and silence is what a deadline is of."""

import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tools"))
import run_tests  # noqa: E402
from run_tests import Counts, Suite  # noqa: E402


def python(program):
    return [sys.executable, "-c", program]


@pytest.fixture(autouse=True)
def own_root(tmp_path, monkeypatch):
    monkeypatch.setattr(run_tests, "ROOT", tmp_path)
    monkeypatch.setattr(run_tests, "FAILED", [])


def run_all(*suites):
    total = run_tests.run_lane(list(suites))
    run_tests.settle(total)
    return total


FAILS_ONCE = """
import pathlib, sys
mark = pathlib.Path({mark!r})
again = mark.exists()
mark.touch()
print("it was", "again" if again else "first")
sys.exit(0 if again else 1)
"""


def test_what_passes_alone_is_unsteady_and_kept(tmp_path, capsys):
    program = python(FAILS_ONCE.format(mark=str(tmp_path / "mark")))
    total = run_all(Suite("once", program), Suite("good", python("print('fine')")))
    assert total == Counts(passed=2, failed=0, skipped=0, unsteady=1)
    assert (tmp_path / "build" / "unsteady" / "once.log").read_text() == "it was first\n"
    assert (tmp_path / "build" / "tests" / "once.log").read_text() == "it was first\n"
    assert "== unsteady: once: passed alone" in capsys.readouterr().out


def test_each_source_is_formatted_once(tmp_path):
    files = [tmp_path / top / f"a.{end}" for top in run_tests.SOURCES
             for end in ("c", "cpp", "h", "hpp")]  # fmt: skip
    for file in files:
        file.parent.mkdir(exist_ok=True)
        file.touch()
    assert run_tests.cpp_files() == sorted(map(str, files))


def test_of_a_suite_of_pytest_only_what_failed_runs_once_more(tmp_path):
    """The suites' own options print the names of what failed."""
    (python_suite,) = (each for each in run_tests.suites() if each.name == "python")
    at = python_suite.command.index("pytest") + 1
    tests = tmp_path / "tests"
    tests.mkdir()
    (tests / "test_two.py").write_text("def test_good(): pass\ndef test_bad(): assert False\n")
    options = [word for word in python_suite.command[at:] if word.startswith(("-q", "-r"))]
    suite = Suite("two", [sys.executable, "-m", "pytest", *options, "tests"], "pytest")
    ended = run_tests.execute(suite.command, 60)
    command, what = run_tests.once_more(suite, ended.output)
    assert what == "tests/test_two.py::test_bad"
    assert command[-1] == what


def test_what_fails_twice_has_failed(capsys):
    assert run_all(Suite("bad", python("raise SystemExit(3)"))) == Counts(failed=1)
    assert "== once more, alone:" in capsys.readouterr().out


@pytest.mark.parametrize(("until", "left_out"), [("1", True), ("99999999999", False)])
def test_suites_that_compile_once_more_begin_before_the_deadline(
    until, left_out, monkeypatch, capsys
):
    monkeypatch.setenv("TEST_UNTIL", until)
    compiles = Suite("tidy", python("print('fine')"), compiles=True)
    total = run_all(compiles, Suite("always", python("print('fine')"), needs=python("pass")))
    assert total == (Counts(passed=1, skipped=1) if left_out else Counts(passed=2))
    assert ("== tidy: left out, since TEST_UNTIL is over" in capsys.readouterr().out) is left_out


@pytest.mark.parametrize("until", ["x", "", "-1", "1e9", "²"])
def test_a_deadline_that_is_no_time_is_an_error(until, monkeypatch):
    monkeypatch.setenv("TEST_UNTIL", until)
    with pytest.raises(SystemExit, match=f"TEST_UNTIL: '{until}' is not usable"):
        run_tests.main()


def test_only_the_failed_cases_run_again(tmp_path):
    suite = Suite("core", ["core_tests", "--gtest_filter=-Slow*"], "gtest")
    output = "[ RUN      ] A.B\n[  FAILED  ] A.B (1 ms)\n[  FAILED  ] A.B\n[  FAILED  ] C/D.E/3\n"
    assert run_tests.once_more(suite, output)[0] == ["core_tests", "--gtest_filter=A.B:C/D.E/3"]
    suite = Suite("python", ["py", "-m", "pytest", "-q", "-n", "2", "tests/python"], "pytest")
    output = (
        "FAILED tests/python/test_a.py::test_b[x 1] - assert\nERROR tests/python/test_c.py::d\n"
    )
    assert run_tests.once_more(suite, output)[0] == [
        "py", "-m", "pytest", "-q", "-rfEs", "tests/python/test_a.py::test_b[x 1]",
        "tests/python/test_c.py::d"]  # fmt: skip
    output = "ERROR tests/python/test_c.py\n"  # no test of it could be collected
    assert run_tests.once_more(suite, output)[0] == suite.command


@pytest.mark.parametrize("more", [
    "[==========] Running 2 tests from 1 test suite.\n[ RUN      ] C.D\n",  # it ended by a signal
    "==7==ERROR: LeakSanitizer: detected memory leaks\n", "WARNING: ThreadSanitizer: data race\n",
])  # fmt: skip
def test_what_failed_without_a_name_is_not_forgotten_beside_what_has_one(more):
    suite = Suite("core", ["core_tests"], "gtest")
    ran = ("[==========] Running 1 test from 1 test suite.\n[  FAILED  ] A.B (1 ms)\n"
           "[==========] 1 test from 1 test suite ran. (1 ms total)\n")  # fmt: skip
    assert run_tests.once_more(suite, ran) == (["core_tests", "--gtest_filter=A.B"], "A.B")
    assert run_tests.once_more(suite, ran + more) == (["core_tests"], "core")


SHARD = """
import os, signal
print("[==========] Running 2 tests from 1 test suite.", flush=True)
if os.environ.get("GTEST_SHARD_INDEX") == "0":
    {ends}
print("[==========] 2 tests from 1 test suite ran. (1 ms total)")
print("[  PASSED  ] 2 tests.")
"""


@pytest.mark.parametrize(
    ("ends", "code", "failed"),
    [("os.kill(os.getpid(), signal.SIGSEGV)", -11, 1), ("os._exit(0)", 0, 1), ("pass", 0, 0)],
)
def test_a_shard_that_dies_has_failed(ends, code, failed, monkeypatch):
    monkeypatch.setattr(run_tests.os, "cpu_count", lambda: 2)
    suite = Suite("core", python(SHARD.format(ends=ends)), "gtest")
    ended = run_tests.execute_in_shards(suite.command, 60)
    assert ended.code == code
    assert run_tests.count(suite, code, ended.output).failed == failed
    assert run_tests.run(suite) == Counts(passed=2 if failed else 4, failed=failed)


def test_a_deadline_is_of_silence(tmp_path):
    talks = "for each in $(seq 22); do echo .; sleep 0.25; done"
    with ThreadPoolExecutor() as pool:
        talking = pool.submit(run_tests.execute, ["sh", "-c", talks], 5)
        silent = pool.submit(run_tests.execute, ["sh", "-c", "echo x; sleep 3600"], 5)
    assert talking.result().code == 0
    code, output, _ = silent.result()
    assert code == 124
    assert output == "x\n\nprinted nothing for 5 s, and was ended"


INTERRUPTED = """
import pathlib, sys
sys.path.append(sys.argv[1])
import run_tests
run_tests.ROOT = pathlib.Path(sys.argv[2])
sleeps = ["sh", "-c", "echo $$; echo $$ > {}; sleep 3600"]
run_tests.suites = lambda: [run_tests.Suite(place, [*sleeps[:2], sleeps[2].format(place)],
                                            place=place) for place in ("first", "low")]
sys.argv[1:] = []
run_tests.main()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_ends_all_that_runs(tmp_path, number):
    program = [*python(INTERRUPTED), str(ROOT / "tools"), str(tmp_path)]
    files = [tmp_path / "first", tmp_path / "low"]
    with subprocess.Popen(program, stdout=subprocess.DEVNULL) as running:
        while not all(each.exists() and each.read_text().endswith("\n") for each in files):
            assert running.poll() is None
            time.sleep(0.05)
        running.send_signal(number)
        assert running.wait() == 128 + number
    for each in files:
        while Path("/proc", each.read_text().strip()).exists():
            time.sleep(0.05)


def test_a_command_that_cannot_start_is_told():
    ended = run_tests.execute(["/no/such"], 5)
    assert (ended.code, ended.output) == (127, "/no/such: No such file or directory")


def test_the_excerpt_of_a_long_output_has_what_failed():
    lines = "ok     a on 2 ranks\n" * 2000
    failed = (
        "/x/a_test.cpp:41: rank 1: x >= 3\n/x/a_test.cpp:41: rank 0: x >= 3\nFAILED a on 2 ranks"
    )
    assert run_tests.excerpt(f"ok     b\n{failed}\n{lines}").startswith(failed)


def test_the_line_of_a_suite_tells_its_cpu_seconds(capsys):
    code = "import time\nwhile time.process_time() < 1.6: pass"
    inner = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {code!r}])"
    run_all(Suite("spins", python(inner)), Suite("none", ["no-such-program"]))
    told = re.findall(r"== (\w+): .* \(\d+ s, (\d+) s of CPU\)", capsys.readouterr().out)
    assert [name for name, _ in told] == ["spins", "none"]
    assert int(told[0][1]) >= 2
    assert told[1][1] == "0"


def test_only_lines_of_sums_are_counted():
    """A library says which ranks failed; ctest puts its number before each line."""
    suite = Suite("mpi", ["true"], "pytest")
    said = (
        "4: latecomer: rank 0 of 'a' (7 ranks): rank 6 failed in call 2\n4: 268 passed, 0 failed\n"
    )
    counts = run_tests.count(suite, 0, said)
    assert (counts.passed, counts.failed) == (268, 0)
    for text in (
        "2 failed, 5 passed, 1 skipped in 3.1s\n",
        "==== 2 failed, 5 passed, 1 skipped ====",
    ):
        counts = run_tests.count(suite, 1, text)
        assert (counts.passed, counts.failed, counts.skipped) == (5, 2, 1)
    assert run_tests.count(suite, 1, "1 error in 0.1s\n").failed == 1
