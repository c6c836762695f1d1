"""PyTorch: latecomer's process group and communication hook give what Gloo gives."""

import importlib.util
import subprocess
import sys

import pytest
from dropin_helpers import launcher_of, run_command
from latecomer.launch import program
from mpi_helpers import FAMILIES
from scenes_helpers import ROOT

CASES = ROOT / "tests" / "python" / "jobs" / "torch_cases.py"
pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None,
    reason="PyTorch is not installed: .venv/bin/pip install torch==2.13.0 --index-url https://download.pytorch.org/whl/cpu",
)


@pytest.mark.parametrize(("name", "ranks"), [("openmpi", 2), ("openmpi", 3), ("mpich", 2)])
def test_all_is_as_with_gloo(name, ranks):
    assert name in FAMILIES
    if program.find_library(name) is None:
        pytest.skip(f"liblatecomer_{name}.so is not built")
    launch = launcher_of(name, ranks, [sys.executable, str(CASES)])
    env = launch.env | {"PYTHONPATH": str(ROOT / "python"), "OMP_NUM_THREADS": "1"}
    assert len(run_command(launch.command, env).check().mistakes) == 16


def test_the_script_to_copy_trains_and_says_who_was_late():
    script = ROOT / "examples" / "pytorch" / "train.py"
    launch = launcher_of("openmpi", 2, [sys.executable, str(script)])
    env = launch.env | {"PYTHONPATH": str(ROOT / "python"), "OMP_NUM_THREADS": "1"}
    job = run_command(launch.command, env)
    assert job.code == 0, job.err
    assert "Rank 1 on " in job.out
    assert "clocks" not in job.out  # one host: one clock
    assert "calls handled" in job.out


# Rank 0 has the port itself, or its number is none.
MEETING = """
import os, socket, sys
from mpi4py import MPI
import torch.distributed as dist, latecomer.torch
from latecomer.base.errors import UserError
rank, taken = MPI.COMM_WORLD.rank, socket.create_server(("127.0.0.1", 0))
os.environ["MASTER_PORT"] = "x" if sys.argv[1] == "wrong" else str(taken.getsockname()[1])
try: dist.init_process_group("gloo", init_method="mpi://")
except UserError as error: print(f"rank {rank}: {error}", flush=True)
"""


@pytest.mark.parametrize(("port", "said"), [("taken", "in use"), ("wrong", "invalid literal")])
def test_all_ranks_learn_that_rank_0_cannot_serve_the_store(tmp_path, port, said):
    script = tmp_path / "script.py"
    script.write_text(MEETING)
    launch = launcher_of("openmpi", 2, [sys.executable, str(script), port])
    env = launch.env | {"PYTHONPATH": str(ROOT / "python"), "OMP_NUM_THREADS": "1"}
    job = run_command(launch.command, env)
    assert job.code == 0, job.err
    for rank in range(2):
        told = f"rank {rank}: rank 0 cannot serve PyTorch's store at 127.0.0.1: "
        assert any(line.startswith(told) and said in line and "MASTER_PORT" in line
                   for line in job.out.splitlines()), job.out  # fmt: skip


# Rank 0 ends, with or without a name for the work, before rank 1 receives.
UNFINISHED = """
import sys, time, torch, torch.distributed as dist, latecomer.torch
dist.init_process_group("cpu:latecomer", init_method="mpi://")
if dist.get_rank() == 0:
    work = dist.isend(torch.full((1 << 21,), 7.0), 1)
    if sys.argv[1] == "dropped": del work
else:
    time.sleep(2)
    dist.recv(got := torch.zeros(1 << 21), 0)
    print("received", set(got.tolist()), flush=True)
dist.destroy_process_group()
"""


@pytest.mark.parametrize("work", ["kept", "dropped"])
def test_a_message_arrives_though_the_sender_has_come_to_its_end(tmp_path, work):
    script = tmp_path / "script.py"
    script.write_text(UNFINISHED)
    launch = launcher_of("openmpi", 2, [sys.executable, str(script), work])
    env = launch.env | {"PYTHONPATH": str(ROOT / "python"), "OMP_NUM_THREADS": "1"}
    job = run_command(launch.command, env)
    assert job.code == 0, job.err
    assert job.out == "received {7.0}\n"


def test_the_package_is_typed():
    code = "import latecomer, pathlib; print(pathlib.Path(latecomer.__file__).with_name('py.typed').exists())"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                           env={"PYTHONPATH": str(ROOT / "python")}, check=False)  # fmt: skip
    assert ended.stdout == "True\n"


def test_torch_is_named_where_it_is_missing():
    code = "import sys; sys.modules['torch'] = None; import latecomer; latecomer.torch"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                           env={"PYTHONPATH": str(ROOT / "python")}, check=False)  # fmt: skip
    assert "latecomer.torch needs PyTorch" in ended.stderr
