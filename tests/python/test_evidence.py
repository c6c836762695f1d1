"""Scripts of evidence/ fail where something failed, and keep results apart that differ."""

import csv
import subprocess
import sys
from types import SimpleNamespace

import pytest
from scenes_helpers import ROOT


@pytest.fixture(autouse=True)
def scripts(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "evidence"))


@pytest.mark.parametrize(
    ("wrong", "code", "faults"), [(0, 0, 0), (2, 1, 2), (0, 66, 1), (2, 66, 3)]
)
def test_a_program_of_worlds_that_fails_after_the_last_one_is_a_fault(
    wrong, code, faults, tmp_path
):
    import worlds

    program = tmp_path / "worlds"
    program.write_text(
        "#!/bin/sh\necho '3 worlds, 4 calls, 5 messages, 6 errors told, 7 requests for memory "
        f"refused, 8 B held at most, 9 s of the worlds'' time; {wrong} worlds'\nexit {code}\n"
        .replace("''", "'\\''")
    )  # fmt: skip
    program.chmod(0o755)
    sums, said = worlds.play(1, 3, program)
    assert sums == [3, 4, 5, 6, 7, 9, faults]
    assert ("seeds 1 to 3: the program ended by 66" in said) is (code == 66)


@pytest.mark.parametrize(("outcome", "code"), [("passed", 0), ("skipped: x", 0), ("failed: x", 1)])
def test_a_test_of_pytorch_that_fails_shows_in_the_exit_code(outcome, code, tmp_path, monkeypatch):
    import torch_suite

    monkeypatch.setattr(torch_suite, "ROOT", tmp_path)
    monkeypatch.setattr(torch_suite, "names", lambda: ["test_a", "test_b"])
    monkeypatch.setattr(torch_suite, "run_from", lambda _asked, _some, results: results.update(
        {"test_a": "passed", "test_b": outcome}))  # fmt: skip
    for name in ("BACKEND", "WORLD_SIZE"):
        monkeypatch.setenv(name, "")
    monkeypatch.setattr(sys, "argv", ["torch_suite.py"])
    assert torch_suite.main() == code


def test_kept_measurements_are_of_the_same_algorithms_and_mpi_library(tmp_path, monkeypatch):
    import compare_native
    import cross_check

    measured = []

    def bench(words, **_):
        measured.append(words[words.index("--algorithms") + 1])
        with open(words[words.index("--output") + 1], "w") as out:  # noqa: PTH123
            csv.writer(out).writerow(["elapsed_ms"])

    monkeypatch.setattr(subprocess, "run", bench)
    for script in (compare_native, cross_check):
        monkeypatch.setattr(script, "RESULTS", tmp_path)
    library = SimpleNamespace(
        name="openmpi", version="1", describe=str, mpirun=tmp_path, found="PATH"
    )
    for ours in ("ring", "fastest", "ring"):
        compare_native.measure(library, 4, "1KiB", ours)
    assert measured == ["native,ring", "native,fastest"]
    measured.clear()
    for version, algorithms in [("1", ["ring"]), ("2", ["ring"]), ("2", ["ring", "two_tree"])] * 2:
        family = SimpleNamespace(version=version)
        monkeypatch.setattr(cross_check.mpi, "family", lambda _name, found=family: found)
        monkeypatch.setattr(cross_check, "ALGORITHMS", algorithms)
        cross_check.measured(4, "64KiB")
    assert measured == ["ring", "ring", "ring,two_tree"]


def test_the_time_to_open_a_page_is_a_median(tmp_path, monkeypatch):
    import report_scale

    clock = iter([0, 100, 200, 201, 300, 307, 400, 403])
    monkeypatch.setattr(report_scale.time, "perf_counter", lambda: next(clock))
    monkeypatch.setattr(report_scale.shutil, "which", lambda _name: "browser")
    ended = SimpleNamespace(stdout='data-ready="1"')
    monkeypatch.setattr(report_scale.subprocess, "run", lambda *_, **_more: ended)
    assert report_scale.opened(tmp_path / "page.html", tmp_path) == 3


def test_the_memory_of_reading_is_not_that_of_writing():
    program = (
        "import readers_scale as scale\nwrite = scale.write\n"
        "def heavy(folder, options):\n    held = b'x' * (600 << 20)\n    write(folder, options)\n"
        "scale.write = heavy\nscale.main()\n"
    )
    words = ["-c", program, "table", "--ranks", "2", "--calls", "20"]
    said = subprocess.run([sys.executable, *words], cwd=ROOT / "evidence", capture_output=True,
                          text=True, check=True).stdout  # fmt: skip
    assert "20 calls on 2 ranks" in said
    assert float(said.split()[-2]) < 0.5, said


def test_a_bench_that_ends_without_a_word_is_told(monkeypatch):
    import soak

    monkeypatch.setattr(sys, "argv", ["soak.py"])
    ended = subprocess.CompletedProcess([], -9, "", "")
    monkeypatch.setattr(soak.subprocess, "run", lambda *_, **__: ended)
    assert soak._bench(1, soak._options()) == ([], "exit code -9")
