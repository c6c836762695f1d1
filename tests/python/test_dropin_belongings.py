"""What belongs to the program stays as it is: its files, limits, stacks, locale, folder, settings."""

import json
import re
import shutil
import subprocess

import pytest
from dropin_helpers import calls_of, cases_of, launcher_of, run_cases, run_command
from latecomer.launch import preload, program
from scenes_helpers import both_families

HANDLED = {"LATECOMER_ALGORITHM": "fastest", "LATECOMER_MIN_BYTES": "0"}
DATA = b"d" * (1 << 16)


def run_in(folder, name, ranks, cases, variables, before=()):
    """As run_cases, in a folder."""
    launch = launcher_of(name, ranks, [*before, cases_of(name), *cases])
    command = preload.preloading(launch.command, preload.library(), variables)
    return run_command(["env", "-C", str(folder), *command], launch.env)


# ---- descriptors


@both_families
def test_files_that_get_the_numbers_of_ours_are_not_touched(name, tmp_path):
    variables = HANDLED | {
        "CASES_FOLDER": str(tmp_path),
        "LATECOMER_TRACE": str(tmp_path / "trace"),
    }
    job = run_cases(name, 2, ["closed_descriptors"], variables).check()
    files = list(tmp_path.glob("data-*"))
    assert {file.name.split("-")[1] for file in files} == {"0", "1"}
    assert all(file.read_bytes() == DATA for file in files)
    assert re.search(r"calls are not in the trace, whose file cannot grow \(Bad file", job.err)
    assert "share no memory, since rank " in job.err


@both_families
def test_the_report_does_not_go_to_a_file_that_has_the_number_of_stderr(name, tmp_path):
    variables = HANDLED | {"CASES_FOLDER": str(tmp_path), "LATECOMER_STATS": "1"}
    job = run_cases(name, 2, ["closed_stderr"], variables).check()
    assert "calls of rank 0 of 2" in job.err
    assert all((tmp_path / f"data-{rank}-2").read_bytes() == DATA for rank in range(2))


@both_families
def test_without_any_stderr_the_report_goes_nowhere(name, tmp_path):
    variables = HANDLED | {"CASES_FOLDER": str(tmp_path), "LATECOMER_STATS": "1"}
    run_cases(name, 2, ["closed_all_of_stderr"], variables).check()
    assert all((tmp_path / f"data-{rank}-2").read_bytes() == DATA for rank in range(2))


# ---- limits


@both_families
def test_a_limit_on_the_size_of_files_ends_the_trace_and_not_the_program(name, tmp_path):
    report = tmp_path / "report.json"
    variables = HANDLED | {
        "LATECOMER_TRACE": str(tmp_path / "trace"),
        "LATECOMER_STATS": str(report),
    }
    job = run_cases(name, 2, ["file_size_limit"], variables).check()
    told = re.findall(
        r"\d+ calls are not in the trace, whose file cannot grow \((.*)\)(.*)", job.err
    )
    assert told == [("File too large", "; ranks with such trouble: 2")], job.err
    assert f"LATECOMER_STATS: cannot write the file '{report}' (File too large)" in job.err


def test_a_limit_on_the_size_of_files_from_the_begin(tmp_path):
    """MPICH, and Open MPI where its ranks share memory, do not start with that limit themselves."""
    limited = ["bash", "-c", 'ulimit -f 64; exec "$@"', "-"]
    launch = launcher_of("openmpi", 2, [*limited, cases_of("openmpi"), "reductions"])
    variables = {"LATECOMER_TRACE": str(tmp_path / "trace"), "OMPI_MCA_btl": "self,tcp"}
    command = preload.preloading(launch.command, preload.library(), variables)
    job = run_command(command, launch.env).check()
    assert (
        f"LATECOMER_TRACE: rank 0 cannot write a trace in '{tmp_path}/trace' (File too large); "
        "ranks with such trouble: 2" in job.err
    )
    assert list((tmp_path / "trace").iterdir()) == []


@both_families
def test_memory_that_one_rank_cannot_map_is_done_without_by_all(name, tmp_path):
    variables = HANDLED | {"LATECOMER_STATS": str(tmp_path / "%r.json")}
    job = run_cases(name, 2, ["address_space_limit"], variables).check()
    told = "ranks of a node share no memory, since rank 1 cannot (Cannot allocate memory)"
    assert job.err.count(told) == 1, job.err
    assert all(calls["failed"] == 0 and calls["handled"] > 20 for calls in calls_of(tmp_path, 2))


@both_families
@pytest.mark.parametrize("case", ["descriptor_limit", "locked_memory_limit"])
def test_other_limits_are_as_with_the_mpi_library_alone(name, case):
    variables = HANDLED | {"MPIR_CVAR_NOLOCAL": "1"}
    launch = launcher_of(name, 2, [cases_of(name), case])
    alone = run_command(launch.command, launch.env)
    if alone.code != 0:
        pytest.skip(f"the MPI library does not live with it: {alone.err[-200:]}")
    run_cases(name, 2, [case], variables).check()


@both_families
@pytest.mark.parametrize("algorithm", ["auto", "fastest", "nodes;allreduce:online_owners"])
def test_threads_may_have_the_smallest_stack(name, algorithm):
    launch = launcher_of(name, 3, [cases_of(name), "--threads", "small_stack"])
    alone = run_command(launch.command, launch.env)
    if alone.code != 0:
        pytest.skip(f"the MPI library does not live with it: {alone.err[-200:]}")
    variables = HANDLED | {"LATECOMER_ALGORITHM": algorithm}
    run_cases(name, 3, ["--threads", "small_stack"], variables).check()


# ---- signals


@both_families
def test_the_progress_thread_takes_no_signals(name):
    variables = HANDLED | {"LATECOMER_PROGRESS": "thread"}
    run_cases(name, 2, ["--threads", "signals"], variables).check()


# ---- floating-point state


@both_families
@pytest.mark.parametrize("words", [[], ["--threads"]])
@pytest.mark.parametrize("algorithm", ["auto", "fastest", "clairvoyant;late_doubling"])
def test_ranks_may_round_and_trap_as_they_like(name, words, algorithm, tmp_path):
    variables = HANDLED | {
        "LATECOMER_ALGORITHM": algorithm,
        "LATECOMER_STATS": str(tmp_path / "%r.json"),
        "LATECOMER_PROGRESS": "thread" if words else "none",
    }
    run_cases(name, 3, [*words, "floating_point"], variables).check()
    assert all(calls["failed"] == 0 for calls in calls_of(tmp_path, 3))


# ---- locale, folder, environment


@pytest.fixture(scope="module")
def german(tmp_path_factory):
    """A folder with a locale that has a decimal comma."""
    made = tmp_path_factory.mktemp("locale")
    if shutil.which("localedef") is None:
        pytest.skip("localedef is not installed")
    words = ["localedef", "-i", "de_DE", "-f", "UTF-8", str(made / "de_DE.UTF-8")]
    if subprocess.run(words, capture_output=True, check=False).returncode > 1:
        pytest.skip("the sources of locales are not installed (package locales)")
    return made


@both_families
def test_no_number_is_written_by_the_programs_locale(name, german, tmp_path):
    variables = HANDLED | {"LC_ALL": "de_DE.UTF-8", "LOCPATH": str(german), "LATECOMER_STATS": "1"}
    told = run_cases(name, 2, ["decimal_comma"], variables).check().err
    assert re.search(r"Of \d+\.?\d* m?s from MPI_Init", told)
    assert not re.search(r"\d,\d", told)
    missing = tmp_path / "missing" / "report"
    told = run_cases(name, 2, ["decimal_comma"], variables | {"LATECOMER_STATS": str(missing)}).err
    assert "(No such file or directory)" in told


@both_families
def test_names_of_files_are_relative_to_the_folder_of_the_begin(name, tmp_path):
    (tmp_path / "costs").write_text("alpha=50us,beta=8ns,gamma=0.1ns\n")
    (tmp_path / "rules.json").write_text('{"format": 1, "communicators": []}')
    variables = HANDLED | {
        "CASES_FOLDER": str(tmp_path),
        "LATECOMER_TRACE": "trace",
        "LATECOMER_STATS": "report-%r.json",
        "LATECOMER_SUMMARY": "summary",
        "LATECOMER_NETWORK": "@costs",
    }
    job = run_in(tmp_path, name, 2, ["changed_folder"], variables).check()
    assert "latecomer" not in job.err
    assert sorted(file.name for file in (tmp_path / "trace").iterdir()) == [
        "rank-0.trace",
        "rank-1.trace",
    ]
    assert json.loads((tmp_path / "summary").read_text())["ranks"] == 2
    for rank in range(2):
        assert (tmp_path / f"report-{rank}.json").exists()
        assert list((tmp_path / f"own-{rank}").iterdir()) == []


@both_families
def test_variables_are_read_at_the_begin(name, tmp_path):
    variables = HANDLED | {"LATECOMER_STATS": str(tmp_path / "%r.json")}
    job = run_cases(name, 2, ["changed_environment"], variables).check()
    assert job.err == ""
    for calls in calls_of(tmp_path, 2):  # of 40; the first ones link the ranks
        assert calls["handled"] > 30
        assert calls["fallback_settings"] == 0


# ---- after main


@both_families
def test_calls_after_main_are_handled_as_those_in_main(name, tmp_path):
    variables = HANDLED | {"LATECOMER_STATS": str(tmp_path / "%r.json")}
    run_cases(name, 2, ["--after-main", "reductions", "moves"], variables).check()
    late = calls_of(tmp_path, 2)
    run_cases(name, 2, ["reductions", "moves"], variables).check()
    once = calls_of(tmp_path, 2)
    for after, before in zip(late, once, strict=True):
        assert after["handled"] >= 2 * before["handled"] - 20
        assert after["fallback_type"] == 2 * before["fallback_type"]


def test_no_memory_is_used_that_exit_has_freed(tmp_path):
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        pytest.skip("valgrind is not installed")
    checked = [valgrind, "--quiet", f"--log-file={tmp_path}/%p.log"]
    words = [*checked, cases_of("openmpi"), "--after-main", "moves"]
    launch = launcher_of("openmpi", 2, words)
    command = preload.preloading(launch.command, preload.library(), HANDLED)
    job = run_command(command, launch.env)
    assert job.code == 0, job.err
    logs = [file.read_text(errors="replace") for file in tmp_path.glob("*.log")]
    assert len(logs) >= 2
    for log in logs:
        invalid = [part for part in re.split(r"==\d+== \n", log) if "Invalid" in part]
        assert not [part for part in invalid if "latecomer" in part]


# What the objects of the library may not call, since it acts on what is the program's, or depends
# on it: ends of static objects, locales, the environment, handlers, the floating-point state.
FORBIDDEN = (
    r"__cxa_atexit|__cxa_thread_atexit|atexit|on_exit|v?s?n?f?d?printf|strto[dfl].*|ato[fil].*|"
    r"setlocale|uselocale|localeconv|is(alpha|alnum|digit|space|print|upper|lower)|"
    r"to(upper|lower)|strerror(_r)?|_ZNSo.*|_ZN?T?T?V?St7__cxx11(18|19)basic_o?stringstream.*|"
    r"setenv|putenv|unsetenv|clearenv|getenv|secure_getenv|chdir|fchdir|umask|"
    r"signal|sigaction|sigset|kill|raise|setrlimit|feenableexcept|fedisableexcept|fesetround|"
    r"fesetenv|feupdateenv|exit|_exit|setvbuf|freopen"
)


@both_families
def test_nothing_is_called_that_changes_what_is_the_programs(name):
    cases_of(name)
    library = program.find_built(preload.LIBRARY)
    build = library.parent
    found = [build / "liblatecomer_core.a", build / f"liblatecomer_mpi_{name}.a"]
    found += build.glob(f"CMakeFiles/latecomer_preload_{name}.dir/**/*.o")
    objects = [str(file) for file in found if file.exists()]
    if len(objects) < 3:
        pytest.skip("the objects of the build are not here")
    text = subprocess.run(["nm", "-A", "-u", *objects], capture_output=True, text=True, check=True)
    names = [line.split()[-1] for line in text.stdout.splitlines() if line.strip()]
    assert len(names) > 1000
    assert sorted({each for each in names if re.fullmatch(FORBIDDEN, each)}) == []
