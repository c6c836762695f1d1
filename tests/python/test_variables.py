"""An environment variable that is empty counts as not set, whichever it is."""

import re
from contextlib import suppress

import pytest
from latecomer.base.variables import variable
from latecomer.core import networks
from latecomer.lab.bench import places
from latecomer.launch import mpi, program
from latecomer.launch.mpi import LaunchError
from scenes_helpers import ROOT, both_families, run_scene

OF_THE_LIBRARY = ["NETWORK", "NODES", "PROGRESS", "REPRODUCIBLE", "RULES", "STATS", "TRACE",
                  "WAIT", "WISDOM"]  # fmt: skip
OF_THE_COMMAND = ["LATECOMER_MPI", "LATECOMER_NETWORK", "LATECOMER_PROGRAMS", "XDG_CONFIG_HOME"]
OF_THE_DROP_IN = ["ALGORITHM", "LOG", "SUMMARY"]
OF_JOBS = ["OMPI_COMM_WORLD_RANK", "PMI_RANK", "MPI_LOCALRANKID"]


def found():
    """The command's view of its surroundings."""
    return (
        networks.chosen(""),
        networks.default_path(),
        list(mpi.families()),
        program.find("openmpi"),
        places.rank_of_job(),
    )


@pytest.mark.parametrize("name", [*OF_THE_COMMAND, *OF_JOBS])
def test_the_command_takes_an_empty_variable_for_none(monkeypatch, name):
    monkeypatch.delenv(name, raising=False)
    without = found()
    monkeypatch.setenv(name, "")
    assert variable(name) is None
    assert found() == without


def test_an_empty_rank_does_not_make_a_job(monkeypatch):
    for name in OF_JOBS:
        monkeypatch.setenv(name, "")
    with suppress(LaunchError):  # the program may not be built
        assert places.find_place("local", 2, None, 1, None).ranks == 2


@both_families
def test_the_library_takes_an_empty_variable_for_none(name):
    env = {f"LATECOMER_{each}": "" for each in OF_THE_LIBRARY}
    ended = run_scene(name, 2, ["stats"], env=env)
    assert (ended.code, ended.err) == (0, "")


def test_these_are_all_variables():
    sources = [*(ROOT / "src").rglob("*.cpp"), *(ROOT / "python" / "latecomer").rglob("*.py")]
    named = {
        name
        for path in sources
        for name in re.findall(r'"(LATECOMER_[A-Z]+)[="]', path.read_text())
    }
    inside = {"LATECOMER_LAB"}  # of the lab, for the programs in it
    library = [*OF_THE_LIBRARY, *OF_THE_DROP_IN]
    assert named - inside == {f"LATECOMER_{each}" for each in library} | {
        name for name in OF_THE_COMMAND if name.startswith("LATECOMER")
    }


def test_the_environment_is_asked_in_one_place_of_each_language():
    asked = re.compile(r"\b((secure_)?getenv\(|environ\b)")
    folder = ROOT / "src"
    places_found = {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*.cpp")
        if asked.search(path.read_text())
    }
    # The second place looks for variables that nobody knows; the plug-in of NCCL has no MPI.
    assert places_found == {"runtime/settings/environment.cpp", "dropin/job_settings.cpp",
                            "nccl/process.cpp"}  # fmt: skip
