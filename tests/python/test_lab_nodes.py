"""Hosts of the lab that several ranks share: their memory, their loopback, their start."""

import json
import math
import re
import subprocess
import sys
from pathlib import Path

import pytest
from lab_helpers import MBIT, call
from latecomer.base.errors import UserError
from latecomer.lab import cluster
from latecomer.lab.cluster import launch, privilege
from latecomer.launch import mpi, program
from mpi_helpers import FAMILIES, compiled, installed

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "evidence"))
import soak

MIB = 1 << 20
EXCHANGED = 64 * MIB

# Ranks 2k and 2k+1 exchange 64 MiB; rank 0 prints the bytes on its host's loopback meanwhile.
EXCHANGE = f"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static long long carried(const char* interface) {{
  char line[512];
  long long received = -1;
  FILE* counters = fopen("/proc/self/net/dev", "r");
  while (counters && fgets(line, sizeof line, counters)) {{
    char* colon = strchr(line, ':');
    if (colon && strstr(line, interface)) received = atoll(colon + 1);
  }}
  if (counters) fclose(counters);
  return received;
}}
int main(int argc, char** argv) {{
  int rank;
  char* in = malloc({MIB});
  char* out = calloc(1, {MIB});
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  long long before = carried("lo:");
  double start = MPI_Wtime();
  for (int i = 0; i < {EXCHANGED // MIB}; ++i)
    MPI_Sendrecv(out, {MIB}, MPI_CHAR, rank ^ 1, 0, in, {MIB}, MPI_CHAR, rank ^ 1, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  double seconds = MPI_Wtime() - start;
  if (rank == 0)
    printf("loopback %lld, %.0f Mbit/s\\n", carried("lo:") - before,
           8e-6 * {EXCHANGED} / seconds);
  return MPI_Finalize();
}}
"""


def exchange(name: str, folder) -> str:
    source, program = folder / "exchange.c", folder / f"exchange.{name}"
    source.write_text(EXCHANGE)
    subprocess.run([installed(name).mpicc, "-o", program, source], check=True)
    return str(program)


@pytest.mark.parametrize("name", FAMILIES)
def test_ranks_of_one_host_talk_through_its_memory(name, namespaces, tmp_path, capfd):
    spec = cluster.LabSpec(2, 200 * MBIT, per_node=2)
    assert cluster.run(spec, [exchange(name, tmp_path)], deadline=600) == 0
    said = capfd.readouterr().out
    carried = int(re.search(r"loopback (\d+)", said)[1])
    assert carried < EXCHANGED / 100, said


@pytest.mark.parametrize(("per_node", "shared"), [(1, False), (2, True)])
def test_open_mpi_is_given_memory_where_hosts_are_shared(per_node, shared):
    environment = launch.environment(cluster.LabSpec(4, 200 * MBIT, per_node=per_node))
    assert ("vader" in environment["OMPI_MCA_btl"].split(",")) == shared
    assert environment["OMPI_MCA_orte_leave_session_attached"] == "1"


@pytest.mark.parametrize(
    ("per_node", "cores", "sleeps"), [(2, 4, True), (2, 8, False), (1, 1, False)]
)
def test_mpich_sleeps_where_hosts_and_cores_are_shared(monkeypatch, per_node, cores, sleeps):
    monkeypatch.setattr("os.cpu_count", lambda: cores)
    environment = launch.environment(cluster.LabSpec(4, 200 * MBIT, per_node=per_node))
    assert ("MPIR_CVAR_CH4_PROGRESS_THROTTLE" in environment) == sleeps


def test_open_mpi_s_ranks_stay_in_one_session(namespaces, capfd):
    """Each session can be a scheduling group of its own, and Linux may starve one for another."""
    script = "cut -d' ' -f6 /proc/self/stat"
    spec = cluster.LabSpec(3, 200 * MBIT)
    assert cluster.run(spec, ["sh", "-c", script], mpi=installed("openmpi").name, deadline=600) == 0
    assert len(set(capfd.readouterr().out.split())) == 1


def test_memory_left_behind_ends_with_the_lab(spec):
    name = "/dev/shm/latecomer-test-left"
    assert cluster.run(spec, ["touch", name], ranks=1, deadline=600) == 0
    assert cluster.run(spec, ["test", "!", "-e", name], ranks=1, deadline=600) == 0


# ---- congestion control

CONTROLS = """
import socket
for address in ("127.0.0.1", "127.0.0.5", socket.gethostbyname(socket.gethostname())):
    server = socket.create_server((address, 0))
    client = socket.create_connection(server.getsockname())
    for end in (client, server.accept()[0]):
        name = end.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
        print(name.rstrip(b"\\0").decode())
"""


@pytest.mark.parametrize("congestion", ["cubic", "reno"])
def test_within_a_host_congestion_is_controlled_as_on_links(congestion, namespaces, capfd):
    if congestion not in privilege.sandbox().congestion:
        pytest.skip(f"no {congestion} here")
    spec = cluster.LabSpec(2, 200 * MBIT, congestion=congestion)
    assert cluster.run(spec, [sys.executable, "-c", CONTROLS], ranks=1, deadline=600) == 0
    assert capfd.readouterr().out.split() == [congestion] * 6


def test_a_check_measures_hosts_too(namespaces):
    done = call("check", "--nodes", "2", "--rate", "100mbit", "--json")
    found = json.loads(done.stdout)
    assert found["local_bits_per_s"] > 0
    assert found["local_congestion"] == found["congestion"]
    assert set(found["hosts_memory"]) == {family.describe() for family in mpi.families()}


def test_mpich_without_ofi_has_no_memory_transport():
    found = {netmods: mpi.Family("mpich", "4.0", None, Path("mpiexec"), "PATH", netmods)
             for netmods in [("ucx",), ("ucx", "ofi")]}  # fmt: skip
    assert [family.shares_memory for family in found.values()] == [False, True]


# ---- the wrong launcher


@pytest.mark.parametrize(("using", "linked"), [FAMILIES, FAMILIES[::-1]])
@pytest.mark.parametrize("before", [[], ["mpirun", "-n", "2"]])
def test_a_program_of_another_family_is_refused(using, linked, before, tmp_path):
    program = compiled(installed(linked), tmp_path)
    version = installed(using).version
    message = f"{using} {version} cannot start .* linked with {linked}: .*; use --mpi {linked}"
    with pytest.raises(mpi.LaunchError, match=message):
        launch.in_lab(cluster.LabSpec(2, 200 * MBIT), [*before, program], family=using)


def test_a_program_whose_library_has_no_launcher_here_is_refused(monkeypatch, tmp_path):
    program = compiled(installed("mpich"), tmp_path)
    openmpi = installed("openmpi")
    monkeypatch.setattr(mpi, "families", lambda: [openmpi])
    with pytest.raises(mpi.LaunchError, match="linked with mpich"):
        launch.in_lab(cluster.LabSpec(2, 200 * MBIT), [program])


def test_a_script_may_use_any_library(tmp_path):
    script = tmp_path / "program.py"
    script.write_text("#!/usr/bin/env python3\n")
    script.chmod(0o755)
    for name in FAMILIES:
        launch.in_lab(cluster.LabSpec(2, 200 * MBIT), [str(script)], family=installed(name).name)


# ---- stalls


def test_a_stall_is_found():
    assert soak.stalled("ring", [0.4, 0.5, 0.4, 4.0]) == []
    assert soak.stalled("ring", [0.4, 0.5, 0.4, 4.6]) == [
        "ring, call 3: 4.60 s, the median is 0.45 s"
    ]


def test_no_call_stalls_on_shared_hosts(namespaces, monkeypatch, capsys):
    """The short one, for calls that never end; `evidence/soak.py` is the long one."""
    try:
        mpi.family("openmpi")
        program.of_family("openmpi")
    except UserError as error:
        pytest.skip(str(error))
    words = ["--runs", "1", "--iterations", "2", "--algorithms", "native,ring", "--deadline", "600"]
    monkeypatch.setattr(sys, "argv", ["soak.py", *words])
    monkeypatch.setattr(soak, "STALL", math.inf)  # here another program may have the cores
    assert soak.main() == 0, capsys.readouterr().out
