"""The emulated cluster: right answers about it, right behaviour in it, nothing left of it."""

import importlib
import itertools
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from lab_helpers import MBIT, SMALL, call, command, environment
from latecomer import cli
from latecomer.lab import cluster
from latecomer.lab.cluster import check as check_function
from latecomer.lab.cluster import kernel, privilege, topology
from latecomer.launch import mpi, processes
from mpi_helpers import FAMILIES, compiled, fake_launcher, installed, wait_until
from scenes_helpers import ROOT

enter = importlib.import_module("latecomer.lab.cluster.enter")  # the package has a function so

# ---- what is asked for


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("200mbit", 200 * MBIT),
        ("1gbit", 10**9),
        ("2.5GBit", 2_500_000_000),
        ("1000000", MBIT),
        ("1000001", 1_000_001),
    ],
)
def test_rates_are_read(text, expected):
    assert cluster.parse_rate(text) == expected
    assert cluster.parse_rate(cluster.format_rate(expected)) == expected


@pytest.mark.parametrize("text", ["", "fast", "200mb", "-1mbit", "1e9", "200 mbit; id", "nan"])
def test_other_rates_are_refused(text):
    with pytest.raises(cluster.SpecError, match="not a link rate.*200mbit"):
        cluster.parse_rate(text)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"nodes": 0}, "nodes out of range: 0; use a value from 1 to 200"),
        ({"nodes": 201}, "nodes out of range: 201"),
        ({"rate_bits_per_s": 10}, "rate .* out of range: 10"),
        ({"per_node": 0}, "ranks per node out of range: 0"),
        ({"gso_max_bytes": 1 << 20}, "GSO .* out of range: 1048576"),
        ({"burst_bytes": 65536}, "burst .* out of range: 65536; use a value from 131072"),
        ({"queue_ms": 0}, "queue .* out of range: 0"),
        ({"congestion": "cubic; id"}, "congestion control: cubic; id"),
        ({"clock_skew_s": -5.0}, "clock skew .* out of range: -5.0; use a value from 0"),
        ({"clock_skew_s": float("nan")}, "clock skew .* out of range: nan"),
    ],
)
def test_impossible_clusters_are_refused(changes, message):
    with pytest.raises(cluster.SpecError, match=message):
        cluster.LabSpec(**SMALL | changes)


@pytest.mark.parametrize(
    ("changes", "burst", "text"),
    [
        ({"congestion": "cubic"}, 128, "lab 16x200mbit burst=128KiB cubic"),
        ({"congestion": "reno"}, 256, "lab 16x200mbit burst=256KiB reno"),
        ({"burst_bytes": 1 << 20}, 1024, "lab 16x200mbit burst=1024KiB"),
        ({"per_node": 2, "queue_ms": 5}, 128, "lab 16x200mbit per-node=2 burst=128KiB queue=5ms"),
        ({"clock_skew_s": 0.5}, 128, "lab 16x200mbit burst=128KiB clock-skew=0.5s"),
    ],
)
def test_the_burst_follows_the_rate_and_is_described(changes, burst, text):
    spec = cluster.LabSpec(16, 200 * MBIT, **changes)
    assert spec.burst == burst * 1024
    assert spec.describe() == text


@pytest.mark.parametrize("rate", [MBIT, 100 * MBIT, 10**9, 10**10])
def test_the_burst_holds_several_packets_and_milliseconds(rate):
    spec = cluster.LabSpec(2, rate)
    assert spec.burst >= 4 * spec.gso_max_bytes
    assert spec.burst * 8 / rate >= 0.005


def test_beta_is_the_time_per_byte_of_payload():
    assert cluster.LabSpec(2, 200 * MBIT).beta_seconds_per_byte == pytest.approx(41.84e-9, rel=1e-3)


@pytest.mark.parametrize(
    ("text", "seconds"), [("5s", 5), ("200ms", 0.2), ("1.5h", 5400), ("2d", 172800), ("3", 3)]
)
def test_skews_are_read(text, seconds):
    assert cluster.parse_skew(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "-5s", "5 weeks", "nan"])
def test_other_skews_are_refused(text):
    with pytest.raises(cluster.SpecError, match="not a time: .*200ms, 5s or 2h"):
        cluster.parse_skew(text)


def test_every_host_has_another_clock():
    spec = cluster.LabSpec(200, MBIT, clock_skew_s=5)
    ahead = sorted(spec.clock_offset_s(node) for node in range(200))
    assert ahead[0] == spec.clock_offset_s(0) == 0
    assert min(late - early for early, late in itertools.pairwise(ahead)) > 0.005
    assert 4.9 < ahead[-1] < 5


# ---- where it cannot be had


def test_a_kernel_without_time_namespaces_is_told_of(monkeypatch):
    def refuse(kinds):
        raise OSError(22, "Invalid argument")

    monkeypatch.setattr(kernel, "unshare", refuse)
    with pytest.raises(
        cluster.LabError, match="time namespaces .*Invalid argument; leave out --clock"
    ):
        topology._new_clock("node1", 5)


def test_a_missing_program_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(privilege, "_SYSTEM_FOLDERS", "")
    privilege.sandbox.cache_clear()
    with pytest.raises(cluster.LabError, match="missing: unshare; .*apt-get install iproute2"):
        privilege.sandbox()


def test_a_refused_operation_is_found_by_doing_it(monkeypatch, tmp_path):
    if not Path("/proc/self/ns/user").exists():
        pytest.skip("no user namespaces in this kernel")
    denied = fake_launcher(tmp_path, "ip", "")
    denied.write_text("#!/bin/sh\necho 'RTNETLINK answers: Operation not permitted' >&2\nexit 2\n")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(privilege, "_in_container", lambda: False)
    privilege.sandbox.cache_clear()
    with pytest.raises(cluster.LabError, match=r"failed: .*not permitted; .*as root"):
        privilege.sandbox()
    privilege.sandbox.cache_clear()


@pytest.mark.parametrize(
    ("message", "sysctl", "contained", "remedy"),
    [
        ("Operation not permitted", "apparmor", False, "apparmor_parser -r"),
        ("Operation not permitted", "clone", False, "unprivileged_userns_clone=1"),
        ("Operation not permitted", "", True, "seccomp=unconfined"),
        ("Operation not permitted", "", False, "run as root"),
        ("Error: Unknown device type.", "", True, "modprobe -a veth"),
        ("unshare failed: No space left on device", "", True, "max_net_namespaces"),
        ("unshare: unrecognized option '--kill-child'", "", True, "util-linux 2.32"),
    ],
)
def test_each_refusal_has_its_remedy(monkeypatch, message, sysctl, contained, remedy):
    values = {
        "kernel/apparmor_restrict_unprivileged_userns": "1" if sysctl == "apparmor" else "",
        "kernel/unprivileged_userns_clone": "0" if sysctl == "clone" else "",
    }
    monkeypatch.setattr(privilege, "_sysctl", values.get)
    monkeypatch.setattr(privilege, "_in_container", lambda: contained)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert remedy in privilege._remedy(message)


def test_namespaces_that_hang_are_told_of(monkeypatch):
    def hang(command, limit, _env):
        raise subprocess.TimeoutExpired(command, limit)

    monkeypatch.setattr(privilege.processes, "finished", hang)
    with pytest.raises(cluster.LabError, match=r"namespaces hangs: .* s; see the kernel's log"):
        privilege._probe(["unshare"])


@pytest.mark.parametrize("kind", ["", "podman"])
def test_a_container_is_known_by_its_variable(monkeypatch, kind):
    monkeypatch.setattr(privilege.Path, "exists", lambda _: False)
    monkeypatch.setattr(privilege, "variable", lambda _: kind or None)
    assert privilege._in_container() == bool(kind)


def test_a_setting_that_the_kernel_lacks_is_empty():
    assert privilege._sysctl("kernel/ostype") == "Linux"
    assert privilege._sysctl("kernel/no_such_setting") == ""


def test_a_refused_bind_names_its_target(tmp_path):
    with pytest.raises(OSError, match=re.escape(f"({tmp_path / 'there'})")) as error:
        kernel.bind(str(tmp_path / "absent"), tmp_path / "there")
    assert error.value.errno


def test_a_lab_that_the_kernel_refuses_is_told_of(monkeypatch):
    monkeypatch.setattr(topology.kernel, "mount", refused_mount)
    with pytest.raises(cluster.LabError, match="cannot build the lab: .*no tmpfs; report this"):
        topology.build(cluster.LabSpec(**SMALL))


def test_a_lab_can_do_without_its_interfaces_in_sys(monkeypatch, tmp_path):
    (tmp_path / "latecomer").mkdir()
    monkeypatch.setattr(topology, "RUN", tmp_path)
    monkeypatch.setattr(topology.kernel, "mount", refused_mount)
    topology._show_interfaces()
    assert (tmp_path / "latecomer" / "sys").is_dir()


def test_a_kernel_without_ipv6_is_as_good(monkeypatch):
    tried = []

    def absent(path, _text):
        tried.append(str(path))
        raise FileNotFoundError(path)

    monkeypatch.setattr(topology.Path, "write_text", absent)
    topology._disable_ipv6()
    assert tried == ["/proc/sys/net/ipv6/conf/default/disable_ipv6"]


def refused_mount(kind, _target):
    raise OSError(1, f"no {kind}")


def test_a_tool_that_fails_while_building_is_quoted(monkeypatch, tmp_path):
    failing = fake_launcher(tmp_path, "ip", "")
    failing.write_text("#!/bin/sh\necho 'RTNETLINK answers:  File exists' >&2\nexit 2\n")
    monkeypatch.setattr(topology, "tool", lambda name: str(tmp_path / name))
    said = "'ip' failed while building switch: RTNETLINK answers: File exists; run 'latecomer lab"
    with pytest.raises(cluster.LabError, match=said):
        topology._batch("ip", "switch", [])


def test_a_lab_that_hangs_is_killed():
    inside = subprocess.Popen(["sleep", "600"])
    with pytest.raises(cluster.LabError, match="hangs and was killed: 0.01 s; see the kernel's"):
        enter._wait(inside, 0.01)
    assert inside.returncode == -signal.SIGKILL


def test_a_child_that_ignores_the_request_to_end_is_killed(monkeypatch):
    monkeypatch.setattr(processes, "_GRACE_S", 0.05)
    deaf = "trap '' TERM; echo deaf; while :; do read -r _; done"
    child = subprocess.Popen(["sh", "-c", deaf], stdout=subprocess.PIPE, stdin=subprocess.PIPE)
    assert child.stdout.readline() == b"deaf\n"
    processes.stop(child)
    assert child.returncode == -signal.SIGKILL
    assert processes.name_of(child.pid) == "?"


def test_a_lab_that_dies_without_an_answer_tells_its_exit_code():
    with pytest.raises(cluster.LabError, match="without an answer: exit code 137; see the mess"):
        enter._read_answer("", -signal.SIGKILL)


@pytest.mark.parametrize("slow", [None, "the machine carries half"])
def test_what_a_check_finds_is_a_table(monkeypatch, capsys, slow):
    found = cluster.CheckResult(
        "2 nodes", 2, 200 * MBIT, 131072, "reno", "cubic", 5e9, {"Open MPI": True, "MPICH": False},
        190e6, 189e6, 188e6, 187e6, 186.04e6, 90e-6, 100e-6, 110e-6, 8.0, slow,
    )  # fmt: skip
    monkeypatch.setattr(cluster, "check", lambda _spec: found)
    assert cli.run(["lab", "check", "--nodes", "2", "--rate", "200mbit"]) == (1 if slow else 0)
    lines = capsys.readouterr().out.splitlines()
    rows = {line[:30].rstrip(): line[31:] for line in lines}
    assert rows["congestion control in force"] == "reno; in a host cubic"
    assert rows["goodput, one way"] == "189.0 Mbit/s"
    assert rows["goodput, all 2 links at once"] == "187.0 Mbit/s (slowest 186.0 Mbit/s)"
    assert rows["round trip, median [quartiles]"] == "100 µs [90-110]"
    assert rows["in a host, Open MPI"] == "memory"
    assert rows["in a host, MPICH"] == "TCP on the loopback"
    assert rows["verdict"] == (f"too slow: {slow}" if slow else "as asked for")


def test_a_real_limit_on_namespaces_is_reported(namespaces):
    """In a namespace of our own, so that the machine's limit stays as it is."""
    if subprocess.run(["unshare", "--user", "--map-root-user", "true"], check=False).returncode:
        pytest.skip("no user namespaces here, whose limit could be lowered")
    script = 'echo 0 > /proc/sys/user/max_net_namespaces && exec "$@"'
    words = command("run", "--nodes", "2", "--rate", "1gbit", "hostname")
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "sh", "-c", script, "sh", *words],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 1
    assert "latecomer: error: no private namespaces here" in done.stderr
    assert "max_net_namespaces" in done.stderr


def test_a_congestion_control_that_is_not_there(namespaces):
    with pytest.raises(cluster.SpecError, match="nonesuch; use one of: .*reno"):
        cluster.settle(cluster.LabSpec(**SMALL, congestion="nonesuch"))


# ---- running


@pytest.mark.parametrize("name", FAMILIES)
def test_ranks_run_on_hosts_of_their_own(name, namespaces, tmp_path, capfd):
    program = compiled(installed(name), tmp_path)
    assert cluster.run(cluster.LabSpec(4, 200 * MBIT), [program], deadline=600) == 0
    expected = {f"rank {rank} of 4 on node{rank}" for rank in range(4)}
    assert set(capfd.readouterr().out.splitlines()) == expected


@pytest.mark.parametrize("name", FAMILIES)
def test_a_launcher_is_run_as_it_is_and_finds_the_hosts(name, namespaces, tmp_path, capfd):
    family = installed(name)
    program = compiled(family, tmp_path)
    words = ["mpiexec", "-n", "4", program]
    assert (
        cluster.run(cluster.LabSpec(2, 200 * MBIT, per_node=2), words, mpi=name, deadline=600) == 0
    )
    hosts = [line.split()[-1] for line in capfd.readouterr().out.splitlines()]
    assert sorted(hosts) == ["node0", "node0", "node1", "node1"]


def test_exit_code_output_and_environment_pass_through(spec, capfd):
    mpich = installed("mpich")
    script = "echo out $MARK; echo err >&2; exit 7"
    code = cluster.run(
        spec, ["sh", "-c", script], mpi=mpich.name, ranks=1, env={"MARK": "x y"}, deadline=600
    )
    captured = capfd.readouterr()
    assert (code, captured.out.strip(), captured.err.strip()) == (7, "out x y", "err")


def test_the_network_is_announced_to_caller_and_ranks(spec, capfd):
    said = []
    cluster.run(spec, ["printenv", "LATECOMER_LAB"], ranks=1, deadline=600, announce=said.append)
    assert spec.describe() in capfd.readouterr().out
    assert said[0].startswith(f"{spec.describe()}, ")


def test_the_next_command_runs_as_it_is_printed_in_the_same_lab(namespaces, tmp_path):
    """At the end of a run in a lab, and in the report of its trace outside."""
    family, ours = installed("openmpi"), str(ROOT / "latecomer")
    source, program = ROOT / "examples/late/late.c", str(tmp_path / "late")
    subprocess.run([family.mpicc, "-o", program, source], check=True)

    def ended(line: str) -> str:
        done = subprocess.run(
            line, shell=True, cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False
        )
        assert done.returncode == 0, f"{line}: {done.stderr}"
        return done.stdout + done.stderr

    lab = f"{ours} lab run --nodes 2 --rate 200mbit --"
    job = f"-- {family.mpirun} --allow-run-as-root -n 2 {program} 8"
    told = ended(f"{lab} {ours} run --observe {job}")
    following = told[told.index("then: ") + len("then: ") :].strip()
    assert following == f"{lab} {ours} run --compare {job}"
    compared = ended(following)
    assert "lab 2x200mbit" in compared
    assert "without   " in compared
    ended(f"{lab} {ours} run --trace 'a b' {job}")
    assert f"then: {lab} {ours} run --compare {job}" in ended(f"{ours} report 'a b'")


def test_only_the_interfaces_of_the_lab_are_seen(spec, capfd):
    cluster.run(spec, ["ls", "/sys/class/net"], ranks=1, deadline=600)
    assert capfd.readouterr().out.split() == ["e0", "lo"]


def test_standard_input_reaches_the_first_rank(spec):
    options = ["--nodes", "2", "--rate", "200mbit", "--quiet"]
    # Hydra never ends the standard input of the other ranks.
    script = 'if [ "$(hostname)" = node0 ]; then cat; fi'
    done = call("run", *options, "--", "sh", "-c", script, input="carried in\n")
    assert (done.returncode, done.stdout) == (0, "carried in\n"), done.stderr


def test_the_shell_is_on_the_first_host_and_reaches_all(namespaces):
    installed("mpich")
    done = subprocess.run(
        command("shell", "--nodes", "3", "--rate", "200mbit"),
        env=environment(SHELL="/bin/sh"),
        input="hostname; getent hosts node2; exit 5\n",
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 5, done.stderr
    assert done.stdout.split() == ["node0", "10.77.0.3", "node2"]


def test_several_labs_at_once_and_nothing_changed_outside(namespaces):
    before = outer_network()
    options = ["run", "--nodes", "2", "--rate", "200mbit", "--quiet", "--", "hostname"]
    labs = [
        subprocess.Popen(command(*options), env=environment(), stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    outputs = [sorted(one.communicate(timeout=600)[0].split()) for one in labs]
    assert outputs == [["node0", "node1"]] * 2
    assert outer_network() == before


def outer_network() -> list[str]:
    sysctls = Path("/proc/sys/net/ipv4").glob("tcp_*congestion_control")
    links = sorted(path.name for path in Path("/sys/class/net").iterdir())
    names = sorted(path.name for path in Path("/run/netns").glob("*"))
    return [*(path.read_text() for path in sorted(sysctls)), *links, *names, os.uname().nodename]


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_killed_from_outside_nothing_is_left(how, namespaces):
    mark = f"latecomer-test-{os.getpid()}-{how}"
    options = ["run", "--nodes", "3", "--rate", "200mbit", "--quiet", "--", "sleep", "86400"]
    with subprocess.Popen(
        command(*options), env=environment(MARK=mark), stderr=subprocess.DEVNULL
    ) as outer:
        wait_until(lambda: names_marked(mark).count("sleep") == 3)
        outer.send_signal(how)
        outer.wait(20)
    wait_until(lambda: not names_marked(mark))


def names_marked(mark: str) -> list[str]:
    return [processes.name_of(pid) for pid in processes.all_pids() if is_marked(pid, mark)]


def is_marked(pid: int, mark: str) -> bool:
    try:
        return mark.encode() in Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False


def test_a_deadline_names_what_still_ran(spec):
    mpich = installed("mpich")
    with pytest.raises(cluster.DeadlineError, match="after 1.5 s and killed: .*node1: sleep"):
        cluster.run(spec, ["sleep", "86400"], mpi=mpich.name, deadline=1.5)


@pytest.mark.parametrize("deadline", [0, -1])
def test_a_deadline_is_positive(spec, deadline):
    with pytest.raises(cluster.SpecError, match="deadline must be positive"):
        cluster.run(spec, ["true"], deadline=deadline)


def test_missing_programs_and_libraries_are_errors(spec):
    with pytest.raises(cluster.LabError, match="no such program: ./missing"):
        cluster.run(spec, ["./missing"])
    with pytest.raises(cluster.LabError, match="no command"):
        cluster.run(spec, [])
    with pytest.raises(mpi.LaunchError, match="lam"):
        cluster.run(spec, ["hostname"], mpi="lam")


# ---- measuring


def test_links_are_shaped(namespaces):
    done = call("check", "--nodes", "3", "--rate", "100mbit", "--json")
    found = json.loads(done.stdout)
    assert done.returncode == (1 if found["too_slow"] else 0)
    for rate in ("one_way_bits_per_s", "ring_bits_per_s"):  # less on a machine that is too slow
        assert 0 < found[rate] < 1.1 * 95.6 * MBIT
    assert found["network"].endswith(found["congestion"])
    assert 0 < found["rtt_q1_s"] <= found["rtt_median_s"] <= found["rtt_q3_s"]


def test_one_node_has_no_link_to_check():
    with pytest.raises(cluster.SpecError, match="2 nodes or more"):
        check_function(cluster.LabSpec(1, 200 * MBIT))


def test_a_machine_that_is_too_slow_is_told_so():
    complaint = sys.modules["latecomer.lab.cluster.measure"]._complaint
    spec = cluster.LabSpec(16, 200 * MBIT)
    assert complaint(spec, 180e6) is None
    assert "carries 100 instead of 191 Mbit/s" in complaint(spec, 100e6)


# ---- the command line


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--rate", "200mbut", "hostname"], 2, "error: not a link rate: '200mbut'; write it as"),
        (["--rate", "200mbit", "--burst", "1KiB", "hostname"], 2, "error: burst (bytes) out of"),
        (["--rate", "200mbit", "--frobnicate", "hostname"], 2, "error: No such option"),
        (["--rate", "200mbit", "--clock-skew=-5s", "hostname"], 2, "error: not a time: '-5s'"),
        (["hostname"], 2, "--rate"),
    ],
)
def test_usage_errors_name_value_and_remedy(words, code, message):
    done = call("run", "--nodes", "2", *words)
    assert (done.returncode, done.stdout) == (code, "")
    assert message in done.stderr
    assert done.stderr.startswith("latecomer: error: ")


@pytest.mark.parametrize("verb", ["run", "check", "shell"])
def test_help_has_an_example(verb):
    done = call(verb, "--help")
    assert done.returncode == 0
    assert f"Example: latecomer lab {verb} --nodes" in done.stdout
