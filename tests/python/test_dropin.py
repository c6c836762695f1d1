"""Programs that know nothing of latecomer, with the drop-in library in their ranks."""

import json
import re
import subprocess
from pathlib import Path

import pytest
from dropin_helpers import (
    calls_of,
    cases_of,
    launcher_of,
    run_cases,
    run_command,
    shared_library,
)
from latecomer.launch import preload, program
from mpi_helpers import installed
from scenes_helpers import both_families

DATA = ["reductions", "moves", "in_place", "nothing", "nothing_waits_for_nobody", "parts",
        "derived_types", "user_operators", "same_everywhere", "aliased_parts", "large_counts"]  # fmt: skip
LIFE = ["communicators", "freed_in_any_order", "attributes", "handles_again", "intercommunicators",
        "topologies", "errors", "children", "pipeline", "nonblocking", "persistent", "lacking_functions",
        "made_apart", "session_beside_world"]  # fmt: skip
EVERYTHING = {"LATECOMER_MIN_BYTES": "0"}


@both_families
def test_all_is_as_with_the_mpi_library_alone(name):
    run_cases(name, 3, DATA + LIFE, EVERYTHING).check()


@both_families
@pytest.mark.parametrize(("ranks", "algorithm"), [(2, "fastest"), (4, "auto:random=1")])
def test_whatever_the_algorithm_executes_gives_the_same_results(name, ranks, algorithm, tmp_path):
    variables = EVERYTHING | {
        "LATECOMER_ALGORITHM": algorithm,
        "LATECOMER_STATS": str(tmp_path / "%r.json"),
    }
    run_cases(name, ranks, DATA + LIFE[1:], variables).check()
    assert all(calls["handled"] > 100 for calls in calls_of(tmp_path, ranks))
    used = executed(tmp_path)
    assert len(used["allreduce"]) > 10 if algorithm.startswith("auto") else used, used


def executed(folder: Path) -> dict[str, set[str]]:
    """What executed rank 0's calls, by collective."""
    found: dict[str, set[str]] = {}
    for each in json.loads((folder / "0.json").read_text())["communicators"]:
        for key in each["keys"]:
            words = [choice["parameters"].split() for choice in key["choices"]]
            found.setdefault(key["collective"], set()).update(word[0] for word in words if word)
    return found


@both_families
@pytest.mark.parametrize("ranks", [3, 6])
def test_the_choice_of_rooted_calls_is_right_on_any_communicator(name, ranks, tmp_path):
    stats = {"LATECOMER_STATS": str(tmp_path / "%r.json")}
    run_cases(name, ranks, ["rooted_blocks", "rooted_calls_end"], stats).check()
    assert len(calls_of(tmp_path, ranks)) == ranks


@both_families
def test_at_random_is_not_used_in_reproducible_mode(name):
    wishes = {"LATECOMER_ALGORITHM": "auto:random=7", "LATECOMER_REPRODUCIBLE": "1"}
    said = run_cases(name, 2, ["nothing"], wishes).check().err
    assert (
        "LATECOMER_ALGORITHM is not used: algorithm in reproducible mode: 'auto:random=7'" in said
    )


def test_a_program_of_the_standard_abi(tmp_path):
    """Of MPI 5: the loader takes the library that was built for it."""
    run_cases("abi", 3, DATA + LIFE[1:], EVERYTHING).check()
    variables = EVERYTHING | {
        "LATECOMER_ALGORITHM": "fastest",
        "LATECOMER_STATS": str(tmp_path / "%r.json"),
    }
    run_cases("abi", 3, ["reductions", "large_counts"], variables).check()
    assert all(calls["handled"] > 100 for calls in calls_of(tmp_path, 3))
    job = run_cases("abi", 2, ["--sessions"], variables)
    assert (job.code, job.err) == (0, "")


@both_families
def test_vectors_of_more_than_2_gib(name, tmp_path):
    """By int counts of large types, and where the MPI library has them by large counts."""
    variables = {"LATECOMER_ALGORITHM": "fastest", "LATECOMER_STATS": str(tmp_path / "%r.json")}
    run_cases(name, 2, ["huge"], variables).check()
    # The ranks are linked after the first call.
    assert all(calls["handled"] == 7 for calls in calls_of(tmp_path, 2))


@both_families
def test_reproducible_calls_are_handled(name):
    job = run_cases(name, 3, ["reductions", "moves", "same_everywhere"],
                    {"LATECOMER_REPRODUCIBLE": "1", "LATECOMER_STATS": "1"})  # fmt: skip
    assert re.search(r"allreduce +320000 .* 6 handled", job.check().err), job.err


@both_families
def test_the_report_explains_itself(name):
    settings = {"LATECOMER_ALGORITHM": "fastest", "LATECOMER_STATS": "1"}
    told = run_cases(name, 2, ["reductions", "moves"], settings).check().err
    first = (
        r"latecomer: Of [\d.]+ m?s from MPI_Init to MPI_Finalize a rank spent [\d.]+ m?s waiting"
    )
    assert re.match(first, told)
    assert re.search(r"carried out \d+ calls, the MPI library \d+, and \d+ more that are too", told)
    assert "There is no estimate of the time that its calls saved" in told  # set by name
    for word in ("inside", "told", "waiting", "moving", "handled", "native", "fallback"):
        assert re.search(rf"\b{word}: ", told), word
    note = "Sums of floating-point numbers may differ"
    assert told.count(note) == 1
    assert re.search(r"^  bcast +8000 +- ", told, re.M)  # it has no operator
    settings["LATECOMER_REPRODUCIBLE"] = "1"
    assert note not in run_cases(name, 2, ["reductions"], settings).check().err


@both_families
def test_one_rank(name):
    job = run_cases(name, 1, DATA + LIFE).check()
    assert "latecomer" not in job.err


@both_families
def test_ranks_may_wait_asleep(name):
    run_cases(name, 3, DATA + LIFE, EVERYTHING | {"LATECOMER_WAIT": "sleep"}).check()


@pytest.mark.parametrize("name", ["mpich", "abi"])
@pytest.mark.parametrize(
    "setting",
    [{}, {"LATECOMER_WAIT": "sleep"}, {"LATECOMER": "observe"}, {"LATECOMER_TRACE": "{}/t"}],
)
def test_errors_of_freed_handles_are_those_of_the_call(name, setting, tmp_path):
    """The program's handler gets one error, which names the function that was called."""
    setting = {variable: value.format(tmp_path) for variable, value in setting.items()}
    run_cases(name, 2, ["freed_handles"], EVERYTHING | setting).check()


@pytest.mark.parametrize("name", ["mpich", "abi"])
@pytest.mark.parametrize("algorithm", ["auto", "ring"])
def test_no_communicator_gets_an_error_handler(name, algorithm):
    variables = EVERYTHING | {"LATECOMER_ALGORITHM": algorithm}
    run_cases(name, 2, ["no_handler"], variables).check()


@pytest.mark.parametrize("name", ["mpich", "abi"])
@pytest.mark.parametrize("algorithm", ["auto", "ring"])
def test_a_call_that_makes_no_communicator_names_none(name, algorithm):
    variables = EVERYTHING | {"LATECOMER_ALGORITHM": algorithm}
    job = run_cases(name, 3, ["unmade"], variables).check()
    assert job.err == ""


@both_families
def test_threads(name):
    run_cases(name, 2, ["--threads", "threads", "reductions"], EVERYTHING).check()
    job = run_cases(name, 2, ["--threads", "reductions"], {"LATECOMER_PROGRESS": "thread"})
    job.check()


@both_families
@pytest.mark.parametrize("progress", ["none", "thread"])
@pytest.mark.parametrize("algorithm", ["auto", "fastest"])
def test_as_many_threads_as_communicators(name, progress, algorithm):
    """Used first, and freed, at the same time in another order on each rank."""
    variables = EVERYTHING | {"LATECOMER_PROGRESS": progress, "LATECOMER_ALGORITHM": algorithm}
    run_cases(name, 3, ["--threads", "many_threads"], variables).check()


def test_fortran_programs():
    job = run_cases("openmpi", 3, ["--fortran"], {"LATECOMER_ALGORITHM": "fastest",
                                                  "LATECOMER_STATS": "1"})  # fmt: skip
    if "fortran_calls" not in job.mistakes:
        pytest.skip("Open MPI has no Fortran bindings here")
    job.check()
    assert re.search(r"fortran|handled", job.err)


def test_fortran_calls_are_handled():
    job = run_cases("openmpi", 2, ["--fortran", "fortran_calls"], {"LATECOMER_STATS": "1",
                    "LATECOMER_ALGORITHM": "allreduce:ring"})  # fmt: skip
    if not job.mistakes:
        pytest.skip("Open MPI has no Fortran bindings here")
    assert "59 handled" in job.check().err  # the ranks are linked after the first call


# What MPICH's binding for mpi_f08 does; PyPI's MPICH has none.
F08 = """
#include <mpi.h>
#include <stddef.h>
void mpi_init_f08_(MPI_Fint* error) {
  const int code = PMPI_Init(NULL, NULL);
  if (error != NULL) *error = code;
}
void mpi_finalize_f08_(MPI_Fint* error) {
  const int code = PMPI_Finalize();
  if (error != NULL) *error = code;
}
"""


def test_a_program_that_begins_with_mpi_f08_of_mpich(tmp_path):
    source = tmp_path / "f08.c"
    source.write_text(F08)
    binding = shared_library(installed("mpich").mpicc, source, tmp_path / "f08.so")
    variables = {"LATECOMER_ALGORITHM": "fastest", "LATECOMER_STATS": str(tmp_path / "%r.json")}
    run_cases("mpich", 2, ["--f08", "reductions"], variables, behind=[binding]).check()
    assert all(calls["handled"] > 0 for calls in calls_of(tmp_path, 2))


@both_families
def test_calls_between_groups_are_counted_where_all_are_only_observed(name, tmp_path):
    file = tmp_path / "job.json"
    variables = {"LATECOMER": "observe", "LATECOMER_SUMMARY": str(file)}
    run_cases(name, 3, ["intercommunicators"], variables).check()
    assert json.loads(file.read_text())["calls"]["fallback_intercommunicator"] > 0


@both_families
def test_processes_of_another_world_are_left_to_the_mpi_library(name):
    job = run_cases(name, 2, ["spawn"], EVERYTHING | {"LATECOMER_ALGORITHM": "fastest"})
    if job.code != 0 and "spawn: " not in job.out:
        pytest.skip(f"no process can be spawned here: {job.err[-300:]}")
    job.check()


def test_a_program_of_sessions_is_left_to_the_mpi_library():
    job = run_cases("mpich", 2, ["--sessions"], EVERYTHING | {"LATECOMER_ALGORITHM": "fastest"})
    assert (job.code, job.err) == (0, "")


@pytest.mark.parametrize("name", ["mpich", "abi"])
def test_counts_that_no_int_holds_without_other_ranks(name):
    run_cases(name, 1, ["large_in_place"]).check()


@both_families
@pytest.mark.parametrize("when", ["--before", "--outside"])
def test_a_call_before_the_begin_or_after_the_end_fails_as_it_does_without(name, when):
    launch = launcher_of(name, 2, [cases_of(name), when])
    without = run_command(launch.command, launch.env)
    job = run_cases(name, 2, [when], EVERYTHING)
    assert job.code == without.code != 0


# ---- settings


@both_families
def test_settings_that_cannot_be_read_are_named_once(name):
    job = run_cases(name, 2, ["nothing"], {"LATECOMER_ALGORITHM": "allreduce:frob",
                    "LATECOMER_MIN_BYTES": "many", "LATECOMER_FROB": "1", "LATECOMER": "maybe",
                    "LATECOMER_LOG": "loud", "LATECOMER_TRACE_BYTES": "1KiB"})  # fmt: skip
    for what in ("ALGORITHM is not used: algorithm: 'frob'", "MIN_BYTES is not used: bytes: 'many'",
                 "FROB is not used", "LATECOMER is not used: value: 'maybe'",
                 "LOG is not used: level: 'loud'",
                 "TRACE_BYTES is not used: bytes: '1KiB'"):  # fmt: skip
        assert job.check().err.count(what) == 1, job.err
    job = run_cases(name, 2, ["nothing"], {"LATECOMER_ALGORITHM": "frob"})
    assert job.check().err.count("ALGORITHM is not used: algorithm: 'frob'") == 1, job.err
    assert (
        "'frob' is not usable; right would be a name that `latecomer algorithms` lists" in job.err
    )
    job = run_cases(name, 2, ["nothing"], {"LATECOMER_ALGORITHM": "prereduced_ring:segments=0"})
    assert "ALGORITHM is not used: segments: '0' is not usable" in job.check().err
    told = {"LATECOMER_ALGORITHM": "prereduced_ring:segments=2", "LATECOMER_LOG": "info"}
    job = run_cases(name, 2, ["nothing"], told)
    assert "LATECOMER_ALGORITHM = " in job.check().err
    assert "allreduce:prereduced_ring:segments=2;" in job.err
    assert "is not used" not in job.err


@both_families
def test_a_summary_that_cannot_be_written_is_named(name, tmp_path):
    missing = tmp_path / "missing" / "summary"
    said = run_cases(name, 2, ["reductions"], {"LATECOMER_SUMMARY": str(missing)}).check().err
    assert (
        f"LATECOMER_SUMMARY: cannot write the file '{missing}' (No such file or directory)" in said
    )


@both_families
def test_the_settings_in_force_are_told(name):
    job = run_cases(name, 2, ["nothing"], {"LATECOMER_LOG": "info", "LATECOMER_MIN_BYTES": "4KiB"})
    assert "LATECOMER_MIN_BYTES = 4096 (environment)" in job.check().err
    assert "LATECOMER_PROGRESS = none (default)" in job.err


REFUSED = {
    "LATECOMER_ALGORITHM": "frob",
    "LATECOMER_MIN_BYTES": "-1",
    "LATECOMER_NETWORK": "alpha=fast",
    "LATECOMER_NODES": "1e9",
    "LATECOMER_PROGRESS": "threads",
    "LATECOMER_REPRODUCIBLE": "yes",
    "LATECOMER_RULES": "/nowhere/rules.json",
    "LATECOMER_WAIT": "1",
}


@both_families
def test_refused_values_are_not_in_force(name):
    told = run_cases(name, 2, ["nothing"], REFUSED | {"LATECOMER_LOG": "info"}).check().err
    for variable in REFUSED:
        assert told.count(f"{variable} is not used: ") == 1, told
        assert re.search(rf"^latecomer: {variable} = .* \(default\)$", told, re.M), told
    right = "right would be off, or a whole number in digits from 1 to 2147483647"
    assert f"LATECOMER_NODES is not used: ranks of a node: '1e9' is not usable; {right}" in told
    assert "(environment)" not in told
    job = run_cases(name, 2, ["nothing"], {"LATECOMER_LOG": "info", "LATECOMER_NODES": "off",
                                           "LATECOMER_PROGRESS": "thread"})  # fmt: skip
    assert "LATECOMER_NODES = off (environment)" in job.check().err
    missing = "LATECOMER_PROGRESS = none, since MPI_THREAD_MULTIPLE is missing (environment)"
    assert missing in job.err


@both_families
def test_bytes_that_are_no_text_are_shown_as_numbers(name):
    raw = "a\udcff\x1b[31m"  # the byte 0xff, as Python passes it on
    for variable in ("LATECOMER_ALGORITHM", "LATECOMER_NETWORK", "LATECOMER_RULES"):
        told = run_cases(name, 2, ["nothing"], {variable: raw}).check().err
        assert r"a\xff\x1b[31m" in told, told


# ---- nothing before it is worth it


@both_families
def test_rooted_calls_wait_for_a_call_that_all_ranks_wait_in(name):
    job = run_cases(name, 3, ["pipeline"], {"LATECOMER_ALGORITHM": "bcast:binomial",
                                            "LATECOMER_STATS": "1"})  # fmt: skip
    assert "40 fallback_link" in job.check().err
    job = run_cases(name, 3, ["moves"], {"LATECOMER_ALGORITHM": "bcast:binomial",
                                         "LATECOMER_STATS": "1"})  # fmt: skip
    assert "1 fallback_link" in job.check().err


@both_families
def test_a_library_is_loaded_where_there_is_mpi_only(name):
    cases_of(name)
    library = str(preload.library())
    shown = subprocess.run(
        ["cat", "/proc/self/maps"], env={"LD_PRELOAD": library}, capture_output=True, text=True,
        check=True,
    ).stdout  # fmt: skip
    assert "liblatecomer_preload.so" in shown
    assert "libmpi" not in shown
    assert "liblatecomer_preload_" not in shown


@both_families
def test_only_the_wrappers_are_visible(name):
    cases_of(name)
    for stem in ("preload", f"preload_{name}"):
        library = program.find_built(f"liblatecomer_{stem}.so")
        text = subprocess.run(
            ["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True
        ).stdout
        names = [line.split()[-1] for line in text.splitlines()]
        assert names
        # Python reads counters; programs that are linked with latecomer look for the observer.
        loaders = r"latecomer_(loader|find_observer)$"
        ours = r"latecomer_(dropin_follow|dropin_observer|count_stats|get_\w+|last_error)$"
        ours = loaders if stem == "preload" else ours
        odd = [n for n in names if not re.match(rf"(?i:p?mpi_)|{ours}", n)]
        assert not odd
        needed = subprocess.run(
            ["readelf", "-d", library], capture_output=True, text=True, check=True
        ).stdout
        assert not re.search(r"NEEDED.*(stdc\+\+|rte|pal)", needed)
