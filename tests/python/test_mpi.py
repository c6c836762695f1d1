"""MPI libraries: found, told apart, and started on this machine."""

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from latecomer.base.errors import DeadlineError, UserError
from latecomer.launch import mpi, processes
from mpi_helpers import FAMILIES, command_line, compiled, fake_launcher, installed, wait_until


@pytest.mark.parametrize("name", FAMILIES)
def test_family_of_a_program_is_the_one_it_was_compiled_with(name, tmp_path):
    family = installed(name)
    assert mpi.family_of(compiled(family, tmp_path)) == family


def test_programs_without_mpi_have_no_family(tmp_path):
    assert mpi.family_of("/bin/sh") is None
    assert mpi.family_of(str(tmp_path / "missing")) is None


def test_families_named_by_the_environment_come_first(tmp_path, monkeypatch):
    first = fake_launcher(tmp_path / "one" / "bin", "mpirun", "mpirun (Open MPI) 9.8.7")
    second = fake_launcher(
        tmp_path / "two",
        "mpiexec",
        "HYDRA build details:\n    Version:   6.0\n    Configure options: --with-device=ch4:ucx,ofi",
    )
    monkeypatch.setenv("LATECOMER_MPI", f"{tmp_path / 'one'}:{second}")
    found = mpi.families()[:2]
    assert [f.describe() for f in found] == ["openmpi 9.8.7", "mpich 6.0"]
    assert [f.mpirun for f in found] == [first, second]
    assert found[0].mpicc is None
    assert found[1].netmods == ("ucx", "ofi")
    assert {f.found for f in found} == {"LATECOMER_MPI"}


def test_strangers_are_not_taken_for_mpi(tmp_path, monkeypatch):
    launcher = fake_launcher(tmp_path, "mpirun", "Some Other Runner 1.0")
    monkeypatch.setenv("LATECOMER_MPI", str(launcher))
    assert launcher not in [f.mpirun for f in mpi.families()]


def test_the_compiler_is_of_the_same_library(tmp_path, monkeypatch):
    launcher = fake_launcher(tmp_path, "mpirun.openmpi", "mpirun (Open MPI) 4.0.0")
    for name in ("mpicc", "mpicc.openmpi", "mpicc.mpich"):
        fake_launcher(tmp_path, name, "")
    monkeypatch.setenv("LATECOMER_MPI", str(launcher))
    assert mpi.families()[0].mpicc == tmp_path / "mpicc.openmpi"


def test_an_unknown_library_is_an_error_that_says_what_there_is():
    with pytest.raises(mpi.LaunchError, match=r"lam; found: .*LATECOMER_MPI"):
        mpi.family("lam")


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("mpirun", True),
        ("/opt/mpi/bin/mpiexec.hydra", True),
        ("srun", True),
        ("./mpi_app", False),
        ("python", False),
    ],
)
def test_launchers_are_known_by_name(word, expected):
    assert mpi.is_launcher(word) is expected


def test_variables_of_an_outer_job_are_left_out():
    env = {"SLURM_JOB_ID": "1", "PMIX_RANK": "0", "OMPI_MCA_pml": "ob1", "HOME": "/"}
    assert mpi.outside_jobs(env) == {"OMPI_MCA_pml": "ob1", "HOME": "/"}


@pytest.mark.parametrize("name", FAMILIES)
def test_running_as_root_is_allowed_only_on_request(name, monkeypatch):
    for variable in mpi.root_permission():
        monkeypatch.delenv(variable, raising=False)
    family = mpi.Family(name, "1", None, Path("/bin/mpirun"), "PATH")
    plain = mpi.launch_command(family, 2, ["./app"], env={"MINE": "1"})
    allowed = mpi.launch_command(family, 2, ["./app"], allow_root=True)
    assert plain.env["MINE"] == "1"
    assert not set(plain.env) & set(mpi.root_permission())
    assert set(allowed.env) >= set(mpi.root_permission())
    assert plain.command[-3:] == ["-n", "2", "./app"]


@pytest.mark.parametrize("name", FAMILIES)
def test_local_ranks_run_and_pass_their_exit_code(name, tmp_path, capfd):
    family = installed(name)
    program = compiled(family, tmp_path)
    launch = mpi.launch_command(family, 3, [program, "0"], allow_root=True)
    assert processes.run(launch.command, env=launch.env, deadline=600) == 0
    said = [line.partition(" on ")[0] for line in capfd.readouterr().out.splitlines()]
    assert sorted(said) == [f"rank {rank} of 3" for rank in range(3)]
    launch = mpi.launch_command(family, 2, [program, "7"], allow_root=True)
    assert processes.run(launch.command, env=launch.env, deadline=600) == 7


@pytest.mark.parametrize("name", FAMILIES)
def test_a_deadline_kills_every_local_rank_and_names_it(name):
    family = installed(name)
    mark = f"86400.{os.getpid()}"
    launch = mpi.launch_command(family, 2, ["sleep", mark], allow_root=True)
    with pytest.raises(DeadlineError, match=r"after 1 s and killed: .*\w+ \(\d+\)"):
        processes.run(launch.command, env=launch.env, deadline=1)
    wait_until(lambda: not any(mark in command_line(pid) for pid in processes.all_pids()))


def started_family():
    """A process, and the ids below it: of one that ignores the request to end."""
    ignore = "signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True)"
    child = f"import signal, time; {ignore}; time.sleep(3600)"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    started = subprocess.Popen([sys.executable, "-c", parent], stdout=subprocess.PIPE)
    assert started.stdout.readline()
    return started, processes.descendants(started.pid)


def test_a_stubborn_tree_is_killed_too():
    started, family = started_family()
    processes.stop(started)
    wait_until(lambda: not any(map(command_line, family)))  # a zombie has none


@pytest.mark.parametrize("error", [OSError(errno.ENOSYS, "none"), OSError(errno.EMFILE, "many")])
def test_a_family_is_killed_without_handles_of_processes(error, monkeypatch):
    def refused(_pid):
        raise error

    monkeypatch.setattr(os, "pidfd_open", refused)
    started, family = started_family()
    processes.stop(started)
    wait_until(lambda: not any(map(command_line, family)))


def test_an_interruption_while_a_family_ends_kills_it(monkeypatch):
    started, family = started_family()
    wait = started.wait

    def interrupted(timeout=None):
        if timeout is not None:
            raise KeyboardInterrupt
        return wait()

    monkeypatch.setattr(started, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        processes.stop(started)
    assert started.returncode is not None
    wait_until(lambda: not any(map(command_line, family)))


def test_a_process_that_has_the_id_of_an_ended_one_is_not_killed(monkeypatch):
    started, (child,) = started_family()
    ticks = iter(["before", "after"])
    monkeypatch.setattr(processes, "_started", lambda _pid: next(ticks))
    processes.stop(started)
    assert command_line(child)
    monkeypatch.undo()
    os.kill(child, signal.SIGKILL)


def test_a_process_that_may_not_be_killed_leaves_the_others_to_be(monkeypatch):
    started, (child,) = started_family()
    other = subprocess.Popen(["sleep", "3600"])
    kill = os.kill

    def of_another_user(pid, number):
        if pid == child:
            raise PermissionError
        kill(pid, number)

    monkeypatch.setattr(processes, "descendants", lambda _root: [child, other.pid])
    monkeypatch.setattr(os, "kill", of_another_user)
    processes.stop(started)
    assert other.wait() == -signal.SIGKILL
    kill(child, signal.SIGKILL)


def test_signals_become_shell_exit_codes():
    assert processes.run(["sh", "-c", "kill -9 $$"]) == 128 + 9
    assert processes.run(["sh", "-c", "exit 3"]) == 3


def test_a_program_that_cannot_start_is_a_clear_error(tmp_path):
    with pytest.raises(UserError, match="cannot start a program .*no-such-program"):
        processes.run([str(tmp_path / "no-such-program")])
