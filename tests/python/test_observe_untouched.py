"""Observing leaves as they are the calls that reach the MPI library, and the bits of results."""

import random
import re

import pytest
from dropin_helpers import launcher_of, run_command
from latecomer.launch import preload, program
from recorder_helpers import MEMORY, PROGRAM, calls_in
from scenes_helpers import both_families
from test_dropin_ways_out import compiled, run_program

RANKS, CALLS = 3, 120
OBSERVE = {"LATECOMER": "observe"}


@pytest.fixture(scope="module")
def recorded(recorder_of, tmp_path_factory):
    """Runs the program with the recorder behind what else is preloaded: calls by rank, and output."""
    made = {}

    def run(name, libraries, variables, seed):
        if program.find_built(preload.LIBRARY) is None:
            pytest.skip("the drop-in library is not built")
        if name not in made:
            folder = tmp_path_factory.mktemp(name)
            made[name] = (recorder_of(name), compiled(name, folder, PROGRAM, "c"))
        tool, code = made[name]
        folder = tmp_path_factory.mktemp("calls")
        launch = launcher_of(name, RANKS, [code, str(CALLS), str(seed)])
        settings = {
            **variables,
            "RECORDED": str(folder),
            "LD_PRELOAD": " ".join(map(str, [*libraries, tool])),
        }
        ended = run_command(preload.with_variables(launch.command, settings), launch.env)
        assert ended.code == 0, ended.err
        return calls_in(folder, RANKS), sorted(ended.out.splitlines())

    return run


@both_families
def test_the_mpi_library_gets_the_same_calls_and_gives_the_same_bits(name, recorded, tmp_path):
    """By a library behind ours that sees every function of mpi.h, by MPI_ and by PMPI_."""
    seed = random.randrange(1 << 32)
    print("seed", seed)
    calls, results = recorded(name, [], {}, seed)
    assert all(len(each) >= CALLS for each in calls)
    ours = preload.library()
    traced = OBSERVE | {"LATECOMER_TRACE": str(tmp_path / "one")}
    modes = [
        (ours, OBSERVE),
        (ours, traced),
        (preload.library(messages=True), traced | {"LATECOMER_TRACE": str(tmp_path / "two")}),
    ]
    for library, variables in modes:
        seen, said = recorded(name, [library], variables, seed)
        for alone, beside in zip(calls, seen, strict=True):
            assert beside == alone, (library.name, variables)
        assert said == results, (library.name, variables)
    changed, _ = recorded(name, [ours], {"LATECOMER_ALGORITHM": "allreduce:ring"}, seed)
    assert changed != calls  # it would be seen


@both_families
def test_memory_is_bounded_whatever_the_calls_and_communicators(name, tmp_path):
    """Stamps are kept of so many calls and communicators at most, and states of so many."""
    code = compiled(name, tmp_path, MEMORY, "c")
    # MPICH has numbers for 2000 communicators.
    words = ["2500", "150", "3000"] if name == "openmpi" else ["1100", "60", "600"]

    def peak(variables):
        """MiB, of the larger rank."""
        job = run_program(name, 2, [code, *words], variables)
        assert job.code == 0, job.err
        return max(map(int, re.findall(r"peak (\d+)", job.out))) / 1024

    alone = peak({"LATECOMER": "off"})
    assert 5 < peak(OBSERVE) - alone < 64
    assert peak(OBSERVE | {"LATECOMER_TRACE": str(tmp_path / "trace")}) - alone < 64
