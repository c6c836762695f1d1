"""PyTorch without MPI: who is late in a model's training, and who hangs."""

import gc
import importlib.util
import os
import re
import subprocess
import sys
import threading
import weakref
from types import SimpleNamespace

import pytest
from latecomer.cli import run
from scenes_helpers import ROOT
from test_mpi4py import without_start

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None,
    reason="PyTorch is not installed: .venv/bin/pip install torch==2.13.0 --index-url https://download.pytorch.org/whl/cpu",
)

MODELS = """
import time, torch, torch.distributed as dist, latecomer.torch
from latecomer.base.errors import UserError
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.nn.parallel import DistributedDataParallel

def trained(make, observed):
    torch.manual_seed(1)
    model = make(torch.nn.Sequential(*[torch.nn.Linear(16, 16) for _ in range(3)]))
    watched = latecomer.torch.observe(model, every=7) if observed else None
    torch.manual_seed(dist.get_rank())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(6):
        dist.barrier()
        if observed and dist.get_rank() == 1: time.sleep(0.3)
        optimizer.zero_grad()
        model(torch.randn(4, 16)).square().sum().backward()
        optimizer.step()
    return watched and watched.summary(), [
        getattr(each, "to_local", lambda: each)().detach().clone() for each in model.parameters()]

def sharded(model):
    for layer in model: fully_shard(layer)
    return fully_shard(model)

dist.init_process_group("gloo")
for make, least in ((DistributedDataParallel, 6), (sharded, 6 * 6)):
    nothing, expected = trained(make, False)
    summary, found = trained(make, True)
    assert all(map(torch.equal, expected, found))
    assert summary.calls >= least, summary
    assert summary.late.rank == 1, summary
    assert summary.ranks[0].waiting > 0.9, summary
    assert summary.clock_error == 0
for model, said in ((torch.nn.Linear(2, 2), "Linear; give one of DistributedDataParallel"),):
    try: latecomer.torch.observe(model)
    except UserError as error: assert said in str(error), error
    else: raise AssertionError(said)
try: latecomer.torch.flight_recorder("nowhere")
except UserError as error: assert "call it before" in str(error), error
else: raise AssertionError("it is too late")
dist.barrier()
dist.destroy_process_group()
"""

# Rank 1 comes when all have written; where it `hangs` it never does. Then rank 0 keeps a copy before
# any rank ends, since the end of one ends the waiting of the others, who would remove their files.
HANGS = """
import os, pathlib, sys, time, latecomer.torch
folder, hangs = pathlib.Path(sys.argv[1]), sys.argv[2] == "hangs"
latecomer.torch.flight_recorder(folder, after=0.5)
import torch, torch.distributed as dist
dist.init_process_group("gloo")
rank, one = dist.get_rank(), torch.ones(1)
pair = dist.new_group([0, 1])
def load():
    for _ in range(5): dist.all_reduce(one)
    if rank < 2: dist.all_reduce(one, group=pair)
def written():
    while len(list(folder.glob("*/trace_rank_*"))) < 3: time.sleep(0.05)
def end():
    if rank == 0:
        written()
        part = pathlib.Path(f"{folder}.part", "host")
        part.mkdir(parents=True)
        for each in folder.glob("*/trace_rank_*"): (part / each.name).write_bytes(each.read_bytes())
        os.rename(part.parent, f"{folder}.kept")
    while not os.path.exists(f"{folder}.kept"): time.sleep(0.05)
    os._exit(0)
load()
if rank == 1:
    if hangs: end()
    written()
    dist.all_reduce(one)
else:
    work = dist.all_reduce(one, async_op=True)
    if hangs: end()
    work.wait()
dist.destroy_process_group()
"""


# Ranks 0 and 2, and 1 and 3, observe models of their own at once; then 0 and 1 alone.
GROUPS = """
import torch, torch.distributed as dist, latecomer.torch
from torch.nn.parallel import DistributedDataParallel
dist.init_process_group("gloo")
me = dist.get_rank()

def observed(group, ranks):
    model = DistributedDataParallel(torch.nn.Linear(8, 8), process_group=group)
    watched = latecomer.torch.observe(model, group=group, every=2)
    for _ in range(4): model(torch.ones(1, 8)).sum().backward()
    assert len(watched.summary().ranks) == len(ranks), watched.summary()

groups = [dist.new_group(ranks) for ranks in ([0, 2], [1, 3], [0, 1])]
observed(groups[me % 2], [0, 2])
if me < 2: observed(groups[2], [0, 1])
dist.barrier()
dist.destroy_process_group()
"""


def launch(tmp_path, code, *words, ranks=3):
    """Run the script by torchrun: its output. Fails where it does."""
    script = tmp_path / "script.py"
    script.write_text(code)
    done = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks),
         str(script), *map(str, words)],
        capture_output=True, text=True, timeout=300, check=False,
        env=os.environ | {"PYTHONPATH": str(ROOT / "python"), "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_script_of_the_documentation(tmp_path):
    text = (ROOT / "docs" / "torch.md").read_text()
    code = re.search(r"## Who is late\?\n\n```python\n(.*?)```", text, re.S)[1]
    assert code.count("\n") <= 22
    said = launch(tmp_path, code.replace("0.02 if", "0.1 if"), ranks=2)  # others use the machine
    assert "Rank 1 on " in said
    assert "clocks" not in said  # one host: one clock


def test_observed_models_are_trained_alike_and_name_the_late_rank(tmp_path):
    launch(tmp_path, MODELS, ranks=2)


def test_groups_of_some_ranks_are_observed(tmp_path):
    launch(tmp_path, GROUPS, ranks=4)


# Its exchanges fail: the second one at once, too.
BROKEN = """
import sys, torch, torch.distributed as dist, latecomer.torch
from latecomer.base.errors import UserError
from torch.nn.parallel import DistributedDataParallel
dist.init_process_group("gloo")
model = DistributedDataParallel(torch.nn.Linear(8, 8))
watched = latecomer.torch.observe(model, every=2)
def broken(_): raise RuntimeError("connection closed by peer")
watched._peers.gather = broken
for _ in range(3): model(torch.ones(1, 8)).sum().backward()
for _ in range(2):
    try: watched.summary()
    except UserError as error:
        assert str(error).startswith("the ranks' exchange of times failed: connection closed by peer; let all")
        assert isinstance(error.__cause__, RuntimeError)
    else: raise AssertionError("no error")
dist.destroy_process_group()
"""


def test_the_cause_of_an_exchange_that_failed_is_told(tmp_path):
    launch(tmp_path, BROKEN, ranks=1)


def test_a_call_ends_where_it_raises():
    from latecomer.torch import observation

    left = []
    record = SimpleNamespace(arrive=lambda: "entry", leave=left.append)

    def failing(*_):
        raise RuntimeError("no memory")

    for call in (observation._watched(failing, record), observation._Sharded(record, failing)):
        with pytest.raises(RuntimeError, match="no memory"):
            call(None, None)
    assert left == ["entry", "entry"]


def test_a_recorder_that_cannot_write_goes_on(tmp_path, monkeypatch, capsys):
    from latecomer.torch import recorder

    monkeypatch.setattr(recorder, "_dump", lambda *, json: b"state" if json else b"calls")
    monkeypatch.setattr(
        recorder, "dist", SimpleNamespace(is_initialized=lambda: True, get_rank=lambda: 3)
    )
    looker = recorder._Looker(str(tmp_path / "no" / "trace_rank_"), 0.0)
    for _ in range(3):
        looker.look()
    assert capsys.readouterr().err.count("the flight recorder, which goes on: ") == 1
    (tmp_path / "no").mkdir()
    looker.look()
    assert (tmp_path / "no" / "trace_rank_3").read_bytes() == b"calls"


def test_a_recorder_goes_on_after_any_error(tmp_path, monkeypatch, capsys):
    from latecomer.torch import recorder

    errors = [ValueError("group destroyed"), RuntimeError("no recorder")]

    def dump(*, json):
        if errors:
            raise errors.pop(0)
        return b"state" if json else b"calls"

    monkeypatch.setattr(recorder, "_dump", dump)
    monkeypatch.setattr(
        recorder, "dist", SimpleNamespace(is_initialized=lambda: True, get_rank=lambda: 3)
    )
    looker = recorder._Looker(str(tmp_path / "trace_rank_"), 0.0)
    for _ in range(4):
        looker.look()
    assert capsys.readouterr().err.count("the flight recorder, which goes on: ") == 1
    assert (tmp_path / "trace_rank_3").read_bytes() == b"calls"


def request_of(error=None):
    """A message that ends when it is told to, and whether somebody waits for it."""
    waits, may_end = threading.Event(), threading.Event()

    def wait(_status):
        waits.set()
        may_end.wait()
        if error:
            raise error

    return SimpleNamespace(Wait=wait, Test=lambda *_: may_end.is_set()), waits, may_end


def test_asking_for_a_message_does_not_wait_where_another_thread_does():
    without_start()
    from latecomer.torch.work import Message

    (request, waits, may_end), ended = request_of(), []
    message = Message(request, [], lambda: ended.append(1))
    assert not message.is_completed()
    future = message.get_future()  # its thread waits
    waits.wait()
    assert not message.is_completed()
    may_end.set()
    assert future.wait() == []
    assert message.is_completed()
    assert ended == [1]


def test_a_message_that_fails_is_an_error_of_its_future():
    without_start()
    from latecomer.torch.work import Message

    request, _, may_end = request_of(RuntimeError("truncated"))
    may_end.set()
    future = Message(request, [], lambda: None).get_future()
    with pytest.raises(RuntimeError, match="truncated"):
        future.wait()


def test_a_message_that_is_dropped_lives_until_it_is_complete():
    without_start()
    from latecomer.torch import work

    (request, _, may_end), ended, memory = request_of(), [], threading.Event()
    lives = weakref.ref(memory)
    work.Message(request, [memory], lambda: ended.append(1))
    del memory
    gc.collect()
    work.forget_dropped()
    assert lives() is not None
    assert not ended
    may_end.set()
    work.forget_dropped()
    assert lives() is None
    assert ended == [1]


def test_a_job_that_hangs_says_who_has_not_come(tmp_path, capsys):
    launch(tmp_path, HANGS, tmp_path / "dumps", "hangs")
    assert run(["report", str(tmp_path / "dumps.kept"), "--budget", "0"]) == 0
    said = capsys.readouterr()
    out, told = (" ".join(text.split()) for text in (said.out, said.err))
    call = "call 6 of group '0' (default_pg), allreduce, is not complete"
    assert f"{call}: ranks 0 and 2 have come, rank 1 has not" in told
    assert (
        "who: Rank 1 on host host has not come to call 6 of default_pg, allreduce; ranks 0 and "
        "2 wait. cost: The job does not go on. where: It was last seen after call 1 of " in out
    )
    assert "rank 1 was last seen after call 1 of group '1', allreduce, at load (script.py:" in told
    assert said.err.count("is not complete") == 1


def test_a_job_that_goes_on_leaves_no_file(tmp_path):
    folder = tmp_path / "dumps"
    launch(tmp_path, HANGS, folder, "waits")
    assert not list(folder.glob("*/*"))
