"""Programs that pass memory of accelerators: a library made for the test stands for the runtime,
and says that memory is the device's which ends the program if the processor touches it."""

from pathlib import Path

import pytest
from dropin_helpers import calls_of, run_cases, shared_library
from mpi_helpers import installed
from scenes_helpers import ROOT

SOURCES = ROOT / "tests" / "dropin" / "device"
CUDA = "libcuda.so.1"
RANKS = 3
every_runtime = pytest.mark.parametrize(
    ("name", "runtime"),
    [
        ("openmpi", CUDA),
        ("openmpi", "libamdhip64.so.6"),
        ("openmpi", "libze_loader.so.1"),
        ("mpich", CUDA),
    ],
)


def run_with_device(
    name: str, cases: list[str], folder: Path, runtime: str = CUDA, **settings: str
) -> list[dict[str, int]]:
    """The calls of each rank by counter."""
    compiler = installed(name).mpicc
    device = shared_library(compiler, SOURCES / "runtime.c", folder / runtime)
    tool = shared_library(compiler, SOURCES / "tool.c", folder / "tool.so")
    variables = {
        "TEST_DEVICE": str(device),
        "LATECOMER_MIN_BYTES": "0",
        "LATECOMER_ALGORITHM": "fastest",
        "LATECOMER_STATS": str(folder / "%r.json"),
    }
    run_cases(name, RANKS, cases, variables | settings, behind=[tool]).check()
    return calls_of(folder, RANKS)


@every_runtime
def test_the_ranks_learn_after_their_first_call_that_some_pass_device_memory(
    name, runtime, tmp_path
):
    for calls in run_with_device(name, ["device_from_begin"], tmp_path, runtime):
        assert calls["handled"] == 0
        assert calls["fallback_link"] == 1
        assert calls["fallback_device"] == 119


@every_runtime
def test_device_memory_may_come_late_and_on_one_rank(name, runtime, tmp_path):
    for calls in run_with_device(name, ["device_later"], tmp_path, runtime):
        assert calls["handled"] >= 119  # those before it came
        assert calls["fallback_device"] > 200


def test_calls_with_copies_go_on_where_progress_threads_announce_calls(tmp_path):
    cases = ["--threads", "device_later"]
    for calls in run_with_device("openmpi", cases, tmp_path, LATECOMER_PROGRESS="thread"):
        assert calls["handled"] == 479
        assert calls["fallback_device"] == 0


def test_a_runtime_alone_changes_nothing(tmp_path):
    for calls in run_with_device("openmpi", ["device_never"], tmp_path):
        assert calls["handled"] == 119
        assert calls["fallback_device"] == 0
