"""Arrivals of programs that really run: what the atlas writes of them names nothing."""

import getpass
import os
import socket
import subprocess
import sys

import pytest
from dropin_helpers import PATIENT, run_command
from latecomer.atlas.file import COLLECTIVES, read
from latecomer.launch import mpi, preload, program
from latecomer.report.trace import read as read_trace
from mpi_helpers import installed
from scenes_helpers import ROOT, both_families
from test_atlas import written

pytest.importorskip("pyarrow")

RANKS, STEPS = 3, 6


@pytest.fixture
def app(name, tmp_path):
    """The launch of examples/late/late.c with a name of its own."""
    if program.find_built(preload.LIBRARY) is None:
        pytest.skip("the drop-in library is not built")
    family, made = installed(name), tmp_path / "secretapp"
    source = ROOT / "examples" / "late" / "late.c"
    subprocess.run([family.mpicc, "-g", source, "-o", made], check=True, timeout=600)
    return mpi.launch_command(family, RANKS, [str(made), str(STEPS)], env=PATIENT, allow_root=True)


def called(launch, *words):
    command = [sys.executable, "-m", "latecomer", *map(str, words), "--", *launch.command]
    return run_command(command, launch.env | {"PYTHONPATH": str(ROOT / "python")})


@both_families
def test_a_program_is_recorded_without_its_names(app, tmp_path):
    file = tmp_path / "app.parquet"
    assert called(app, "atlas", "record", "--output", file).code == 0
    found = read(file)
    assert (found.about.name, found.about.ranks, len(found)) == ("", RANKS, STEPS)
    assert found.collective == ["allreduce"] * STEPS
    assert set(found.bytes.tolist()) == {1 << 20}
    assert set(found.place.tolist()) == {0}
    assert found.about.cores == len(os.sched_getaffinity(0))
    content = file.read_bytes()
    for name in (socket.gethostname(), "secretapp", str(tmp_path), "late.c"):
        assert name.encode() not in content, name
    assert sorted(each.name for each in tmp_path.iterdir()) == ["app.parquet", "secretapp"]


@both_families
def test_no_name_of_its_trace_is_in_the_file(app, tmp_path):
    folder, file = tmp_path / "secrettraces", tmp_path / "app.parquet"
    assert called(app, "run", "--observe", "--trace", folder).code == 0
    trace = read_trace(folder)
    record = [sys.executable, "-m", "latecomer", "atlas", "record", "--output", file, folder]
    subprocess.run(
        record, check=True, timeout=600, env=app.env | {"PYTHONPATH": str(ROOT / "python")}
    )
    content = file.read_bytes()
    words = {trace.words[i] for i in range(len(trace.words))} - set(COLLECTIVES)
    sites = {part for word in words for part in word.split("+")}
    names = {*words, *sites, *trace.hosts, *(group.name for group in trace.groups), trace.source,
             "secrettraces", getpass.getuser(), f"{trace.started:.0f}"}  # fmt: skip
    assert "secretapp" in sites
    # Names below 4 letters may be numbers by chance, and users may be called as a column is.
    in_all = written(tmp_path).read_bytes()
    looked_for = [each.encode() for each in names if len(each) > 3 and each.encode() not in in_all]
    assert len(looked_for) > 4
    assert not [each for each in looked_for if each in content]
    assert len(read(file)) == STEPS
