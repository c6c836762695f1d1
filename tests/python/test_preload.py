"""The drop-in library beside what a command preloads already."""

import shutil
import subprocess

import pytest
from dropin_helpers import cases_of, launcher_of, run_command
from latecomer.launch import preload
from mpi_helpers import installed
from scenes_helpers import both_families

OURS = "/ours/liblatecomer_preload.so"
TOOL = """
#include <mpi.h>
#include <stdio.h>
int MPI_Init(int* c, char*** v) {
  const int code = PMPI_Init(c, v);
  int rank;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) printf("tool: 0\\n");
  return code;
}
"""
SANITIZED = """
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char** argv) {
  int rank;
  double* const in = calloc(4000, sizeof *in);
  double* const out = calloc(4000, sizeof *out);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  in[3] = rank + 1;
  for (int i = 0; i < 20; ++i) {
    MPI_Allreduce(in, out, 4000, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  if (rank == 0) printf("mistakes: %d\\n", out[3] != 3);
  free(in);
  free(out);
  return MPI_Finalize();
}
"""


@pytest.fixture
def launchers(tmp_path):
    """Programs that call themselves the launchers of Open MPI, MPICH and Slurm."""
    paths = {}
    for name, says in (("openmpi", "mpirun (Open MPI) 4.1.4"), ("mpich", "HYDRA build details:"),
                       ("slurm", "slurm 22")):  # fmt: skip
        path = tmp_path / name / ("srun" if name == "slurm" else "mpirun")
        path.parent.mkdir()
        path.write_text(f"#!/bin/sh\necho '{says}'\n")
        path.chmod(0o755)
        paths[name] = str(path)
    return paths


def joined(launcher, *words):
    command = preload.preloading([launcher, *words], preload.Path(OURS), {"A": "1"})
    return command[1:]


def test_other_preloads_of_a_command_are_joined(launchers, monkeypatch):
    monkeypatch.delenv("LD_PRELOAD", raising=False)
    openmpi, mpich, slurm = launchers["openmpi"], launchers["mpich"], launchers["slurm"]
    ours = ["-x", "A=1", "-x"]
    assert joined(openmpi, "-n", "2", "app") == [*ours, f"LD_PRELOAD={OURS}", "-n", "2", "app"]
    assert joined(openmpi, "-x", "LD_PRELOAD=/t/a.so:/t/b.so", "-n", "2", "app") == [
        *ours, f"LD_PRELOAD={OURS} /t/a.so /t/b.so", "-n", "2", "app"]  # fmt: skip
    assert joined(openmpi, "env", "LD_PRELOAD=/t/a.so", "app")[4:] == [
        "env", f"LD_PRELOAD={OURS} /t/a.so", "app"]  # fmt: skip
    assert joined(mpich, "-genv", "LD_PRELOAD", "/t/a.so", "-n", "2", "app") == [
        "-genv", "A", "1", "-genv", "LD_PRELOAD", f"{OURS} /t/a.so", "-n", "2", "app"]  # fmt: skip
    assert joined(slurm, "--export=ALL,B=2,LD_PRELOAD=/t/a.so", "app") == [
        f"--export=ALL,B=2,LD_PRELOAD={OURS} /t/a.so", "app"]  # fmt: skip
    for none in ("NONE", "none", "NONE,B=2"):  # the list ends there
        made = joined(slurm, f"--export={none}", "app")
        assert made == [f"--export=A,LD_PRELOAD={OURS}", "app"]
    assert joined(slurm, "--export=B=2,None", "app") == [
        f"--export=B=2,A,LD_PRELOAD={OURS}", "app"]  # fmt: skip
    assert joined(slurm, "-n2", "a", "x", ":", "--export=B", "-n", "3", "b") == [
        f"--export=ALL,LD_PRELOAD={OURS}", "-n2", "a", "x", ":",
        f"--export=B,A,LD_PRELOAD={OURS}", "-n", "3", "b"]  # fmt: skip
    assert joined(slurm, "-n2", "--export", "B=2,LD_PRELOAD=/t/a.so", "app") == [
        f"--export=B=2,A,LD_PRELOAD={OURS} /t/a.so", "-n2", "app"]  # fmt: skip
    assert joined(slurm, "--export=LD_PRELOAD=/t/a.so", "app") == [
        f"--export=A,LD_PRELOAD={OURS} /t/a.so", "app"]  # fmt: skip
    monkeypatch.setenv("LD_PRELOAD", "/other/liblatecomer_preload_messages.so")
    assert joined(openmpi, "app") == [*ours, f"LD_PRELOAD={OURS}", "app"]  # one of ours is enough
    monkeypatch.setenv("LD_PRELOAD", "/e/c.so")
    assert joined(openmpi, "app") == [*ours, f"LD_PRELOAD={OURS} /e/c.so", "app"]
    assert joined(openmpi, "-x", "LD_PRELOAD", "app") == [
        *ours,
        f"LD_PRELOAD={OURS} /e/c.so",
        "app",
    ]
    assert joined(openmpi, "-x", "LD_PRELOAD=/t/a.so", "app") == [
        *ours, f"LD_PRELOAD={OURS} /t/a.so", "app"]  # fmt: skip
    sanitizer = "/l/libasan.so.8"
    assert joined(openmpi, "-x", f"LD_PRELOAD=/t/a.so {sanitizer}", "app") == [
        *ours, f"LD_PRELOAD={sanitizer} {OURS} /t/a.so", "app"]  # fmt: skip


@pytest.mark.parametrize("options", [
    [], ["-n", "4"], ["-n4", "-ul", "--label", "-J", "job"], ["--ntasks", "4", "--exclusive", "-K"],
    ["--pty", "-lc", "2", "--mpi=pmix", "--"], ["-v", "-v", "-w", "n1,n2", "--latecomer"], ["--bcast", "--interactive"],
])  # fmt: skip
def test_what_follows_the_program_is_not_for_srun(options, launchers, monkeypatch):
    monkeypatch.delenv("LD_PRELOAD", raising=False)
    monkeypatch.delenv("SLURM_EXPORT_ENV", raising=False)
    program = ["app", "--export=onnx", "--export", "A", "-n", "4"]
    ours = f"LD_PRELOAD={OURS}"
    made = joined(launchers["slurm"], *options, *program)
    assert made == [f"--export=ALL,{ours}", *options, *program]
    first = [each for each in options if each != "--"]
    made = joined(launchers["slurm"], *first, "--export", "B=2", *program)
    assert made == [f"--export=B=2,A,{ours}", *first, *program]
    monkeypatch.setenv("SLURM_EXPORT_ENV", "NONE")  # of a job that was submitted with it
    made = joined(launchers["slurm"], *options, *program)
    assert made == [f"--export=A,{ours}", *options, *program]


@pytest.mark.parametrize("words", [
    ["srun", "-p", "test"], ["srun", "-ptest", "--partition", "test", "-n", "2", "-l"],
    ["srun", "--mpi=pmix", "--"], ["mpirun", "--map-by", "node", "-np", "2", "--oversubscribe"],
    ["mpirun", "--mca", "btl", "test", "--bind-to", "core", "-x", "PATH", "-H", "node"],
    ["mpiexec", "-genv", "A", "test", "-ppn", "2", "-launcher", "ssh", "-verbose"],
    ["/opt/bin/mpiexec.hydra", "-f", "/usr/bin/test", "-l"], ["mpirun"],
])  # fmt: skip
def test_values_of_a_launcher_s_options_are_no_program(words):
    program = ["./app", "-n", "4"]
    found = preload.behind_options([*words, *program])
    assert found[words[-1] == "--" :] == program
    assert preload.behind_options(words)[words[-1] == "--" :] == []


@pytest.mark.parametrize("folder", ["with blank", "with:colon", "with\ttab"])
def test_a_folder_that_nothing_can_be_preloaded_from_is_an_error(folder, tmp_path, monkeypatch):
    place = tmp_path / folder
    place.mkdir()
    (place / preload.LIBRARY).touch()
    monkeypatch.setattr(preload.program, "find_built", lambda name: place / name)
    with pytest.raises(preload.LaunchError, match="blanks and colons separate") as error:
        preload.library()
    assert str(place) in str(error.value)


@both_families
def test_a_tool_in_the_command_and_the_library_are_both_active(name, tmp_path):
    (tmp_path / "tool.c").write_text(TOOL)
    tool = tmp_path / "tool.so"
    subprocess.run([installed(name).mpicc, "-shared", "-fPIC", tmp_path / "tool.c", "-o", tool],
                   check=True)  # fmt: skip
    launch = launcher_of(name, 2, [cases_of(name), "reductions"])
    option = ["-x", f"LD_PRELOAD={tool}"] if name == "openmpi" else ["-genv", "LD_PRELOAD", tool]
    command = [launch.command[0], *map(str, option), *launch.command[1:]]
    settings = {"LATECOMER_STATS": "1"}
    job = run_command(preload.preloading(command, preload.library(), settings), launch.env).check()
    assert job.mistakes["tool"] == 0
    assert job.err.startswith("latecomer: Of ")


@pytest.mark.parametrize("option", ["address", "undefined", "thread"])
def test_a_program_with_a_sanitizer_runs(option, tmp_path):
    compiler = shutil.which("mpicc.openmpi")
    if compiler is None:
        pytest.skip("no mpicc.openmpi")
    (tmp_path / "program.c").write_text(SANITIZED)
    program = tmp_path / "program"
    built = subprocess.run(
        [compiler, f"-fsanitize={option}", tmp_path / "program.c", "-o", program],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if built.returncode != 0:
        pytest.skip(f"no sanitizer: {built.stderr[-200:]}")
    launch = launcher_of("openmpi", 2, [str(program)])
    alone = run_command(
        preload.with_variables(launch.command, {"ASAN_OPTIONS": "detect_leaks=0"}), launch.env
    )
    if alone.code != 0:
        pytest.skip(f"the program fails alone: {alone.err[-200:]}")
    settings = {"LATECOMER_STATS": "1", "LATECOMER_ALGORITHM": "fastest"}
    command = [launch.command[0], "-x", "ASAN_OPTIONS=detect_leaks=0", *launch.command[1:]]
    job = run_command(preload.preloading(command, preload.library(), settings), launch.env).check()
    assert "latecomer: Of " in job.err


def test_a_program_that_may_not_be_read_is_taken_to_have_no_sanitizer(tmp_path, monkeypatch):
    monkeypatch.setattr(preload.shutil, "which", lambda _: str(tmp_path))  # reading a folder fails
    assert not preload._needs_address_sanitizer(["mpirun", "program"])
