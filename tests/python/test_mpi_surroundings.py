"""The surroundings of calls: threads, and the time before MPI_Init and after MPI_Finalize."""

import pytest
from scenes_helpers import both_families, run_scene


@both_families
def test_threads_call_on_communicators_of_their_own(name):
    ended = run_scene(name, 2, ["threads"], env={"LATECOMER_STATS": "1"})
    assert ended.code == 0, ended.err
    # 3 threads made 4 communicators each, one after another: all are told
    assert ended.err.count("of an unnamed communicator (2 ranks): 25 ") == 12


@both_families
@pytest.mark.parametrize("ranks", [1, 2])
def test_calls_outside_of_mpi_are_errors(name, ranks):
    ended = run_scene(name, ranks, ["outside"], env={"LATECOMER_STATS": "1"})
    assert ended.code == 0, ended.err


@both_families
def test_a_collective_outside_of_mpi_is_the_librarys_to_refuse(name):
    ended = run_scene(name, 1, ["outside", "collective"])
    assert ended.code != 0
    assert "Allreduce" in ended.err


def test_programs_with_sessions_alone_are_served_by_the_library():
    ended = run_scene("mpich", 3, ["sessions"], env={"LATECOMER_STATS": "1"})
    assert ended.code == 0, ended.err


WRONG = {
    "LATECOMER_NETWORK": "alpha=fast",
    "LATECOMER_REPRODUCIBLE": "yes",
    "LATECOMER_PROGRESS": "always",
    "LATECOMER_NODES": "some",
    "LATECOMER_RULES": "/nowhere/rules.json",
    "LATECOMER_WAIT": "often",
}


@both_families
@pytest.mark.parametrize("variable", WRONG)
def test_what_is_wrong_with_a_variable_is_said_once_a_job(name, variable):
    ended = run_scene(name, 3, ["stats"], env={variable: WRONG[variable]})
    assert ended.code == 0, ended.err
    assert ended.err.count(f"latecomer: {variable} is not used: ") == 1, ended.err


@both_families
def test_a_missing_thread_level_is_said_once_a_job(name):
    ended = run_scene(name, 3, ["stats"], env={"LATECOMER_PROGRESS": "thread"})
    assert ended.code == 0, ended.err
    assert ended.err.count("MPI_THREAD_MULTIPLE, from MPI_Init_thread") == 1, ended.err


@both_families
def test_the_progress_thread_ends_before_mpi_does(name):
    ended = run_scene(name, 2, ["finalize"], env={"LATECOMER_PROGRESS": "thread"})
    assert ended.code == 0, ended.err
