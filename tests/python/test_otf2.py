"""OTF2 archives: calls come back with their times; without the module an error says so."""

import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from latecomer.base.errors import UserError
from latecomer.cli import run
from latecomer.report.trace import TraceError, Words, otf2_archive, read
from latecomer.report.trace.alone import alone
from latecomer.report.trace.otf2_export import _Archive, lacking, otf2
from table_helpers import export
from test_table import overlaps
from test_written import full_after
from trace_helpers import HOSTILE, arrivals_and_exits, group_of, made_up, trace_of

RANKS, CALLS = 3, 8


def write(folder, late=0.004, move=0.001, host="node0", name="MPI_COMM_WORLD", calls=CALLS):
    """An archive as Score-P's: an all-reduce of 1 MiB, and a broadcast on ranks 0 and 1."""
    otf2 = pytest.importorskip("otf2", reason="the Python module otf2 is not installed")
    with otf2.writer.open(str(folder), timer_resolution=1_000_000,
                          chunk_size_events=1 << 18) as trace:  # fmt: skip
        define = trace.definitions
        root = define.system_tree_node("cluster")
        ranks = []
        for rank in range(RANKS):
            node = define.system_tree_node(host, parent=root)
            process = define.location_group(f"MPI Rank {rank}", system_tree_parent=node)
            ranks.append(define.location("Master thread", group=process))
        mpi = otf2.Paradigm.MPI
        every = define.group("", group_type=otf2.GroupType.COMM_LOCATIONS, paradigm=mpi,
                             members=ranks)  # fmt: skip
        group = define.group("", group_type=otf2.GroupType.COMM_GROUP, paradigm=mpi, members=ranks)
        two = define.group(
            "", group_type=otf2.GroupType.COMM_GROUP, paradigm=mpi, members=ranks[:2]
        )
        world = define.comm(name, group=group)
        pair = define.comm("", group=two, parent=world)
        assert every is not None
        writers = [trace.event_writer_from_location(rank) for rank in ranks]
        for call in range(calls):
            begin = 1.0 + 0.1 * call
            last = begin + late
            for rank, writer in enumerate(writers):
                enter = last if rank == 1 else begin
                writer.mpi_collective_begin(int(1e6 * enter))
                writer.mpi_collective_end(
                    int(1e6 * (last + move)), otf2.CollectiveOp.ALLREDUCE, world,
                    otf2.Undefined.UINT32.value, 1 << 20, 1 << 20,
                )  # fmt: skip
            for rank, writer in enumerate(writers[:2]):
                writer.mpi_collective_begin(int(1e6 * (last + 0.01 + 0.001 * rank)))
                writer.mpi_collective_end(int(1e6 * (last + 0.02)), otf2.CollectiveOp.BCAST, pair,
                                          1, 64, 64)  # fmt: skip
    return folder


def test_an_archive_comes_back(tmp_path):
    trace = read(write(tmp_path / "archive"))
    assert (trace.format, trace.ranks, trace.remarks) == ("OTF2", RANKS, [])
    assert set(trace.hosts) == {"node0"}
    world, pair = trace.groups
    assert [trace.words[each] for each in world.collective] == ["allreduce"] * CALLS
    assert (world.bytes == 1 << 20).all()
    np.testing.assert_allclose(world.arrival[:, 1] - world.arrival[:, 0], 0.004, atol=2e-6)
    np.testing.assert_allclose(
        world.exit - world.arrival.max(axis=1, keepdims=True), 0.001, atol=2e-6
    )
    assert pair.members.tolist() == [0, 1]
    assert (pair.root == 1).all()


def test_the_report_of_an_archive(tmp_path, capsys):
    folder = write(tmp_path / "archive", late=0.02)
    page = tmp_path / "page.html"
    assert run(["report", str(folder), "--html", str(page), "--budget", "0"]) == 0
    assert "Rank 1 on host node0" in capsys.readouterr().out


@pytest.mark.parametrize("seed", range(6))
def test_a_trace_that_was_written_as_an_archive_comes_back(tmp_path, seed):
    pytest.importorskip("otf2", reason="the Python module otf2 is not installed")
    rng = np.random.default_rng(seed)
    ranks, words = int(rng.integers(2, 6)), Words()
    arrival, leave = arrivals_and_exits(20, ranks, late=seed % ranks, seed=seed)
    arrival[3, 0] = np.nan  # a call that is not known on a rank
    own = rng.permutation(ranks)[:2]
    came = leave[:, own] + 0.001 * rng.random((20, 2))
    groups = [group_of(arrival, leave, words, name=HOSTILE),
              group_of(came, came.max(axis=1, keepdims=True) + np.full((20, 2), 0.001), words,
                       name="pair", members=own, collective="bcast", root=1, size=64)]  # fmt: skip
    trace = trace_of(groups, words, hosts=["a"] * ranks)
    otf2(trace, tmp_path / "archive")
    again = read(tmp_path / "archive")
    assert list(again.hosts) == list(trace.hosts)
    first = np.nanmin(arrival)
    for was, group in zip(groups, again.groups, strict=True):
        assert group.members.tolist() == was.members.tolist()
        known = np.isfinite(was.arrival).all(axis=1)
        assert {again.words[i] for i in group.collective} == {words[was.collective[0]]}
        assert set(group.bytes) == set(was.bytes)
        np.testing.assert_allclose(group.arrival, was.arrival[known] - first, atol=3e-9)
        np.testing.assert_allclose(group.exit, was.exit[known] - first, atol=3e-9)
    assert (again.groups[1].root == 1).all()


def test_the_command_writes_an_archive_once(tmp_path, capsys):
    pytest.importorskip("otf2", reason="the Python module otf2 is not installed")
    folder = write(tmp_path / "archive")
    words = ["report", str(folder), "--otf2", str(tmp_path / "again")]
    assert run(words) == 0
    assert (tmp_path / "again" / "traces.otf2").is_file()
    assert run(words) == 1
    assert "the folder of an OTF2 archive exists" in capsys.readouterr().err


def test_what_an_archive_leaves_out_is_said(tmp_path, capsys):
    pytest.importorskip("otf2", reason="the Python module otf2 is not installed")
    trace = overlaps(tmp_path)
    assert lacking(trace) == "the archive lacks 10 non-blocking collectives"
    words = Words()
    group = group_of(*arrivals_and_exits(12, 3), words)
    group.exit[::6, 1] = np.nan
    trace = replace(trace, groups=[group])
    assert lacking(trace) == ("the archive lacks 10 non-blocking collectives and 2 collectives of "
                              "which not all ranks are known")  # fmt: skip
    assert lacking(made_up()) == ""
    path = export(overlaps(tmp_path), tmp_path / "calls.csv")
    assert run(["report", str(path), "--otf2", str(tmp_path / "archive")]) == 0
    assert capsys.readouterr().err.endswith("the archive lacks 10 non-blocking collectives\n")


@pytest.mark.parametrize("size", [10, 450, 2000])
def test_on_a_full_disk_there_is_no_archive(tmp_path, size, capfd):
    pytest.importorskip("otf2", reason="the Python module otf2 is not installed")
    with (
        full_after(size),
        pytest.raises(TraceError, match="OTF2 cannot write it: File is too large"),
    ):
        otf2(made_up(calls=1000), tmp_path / "archive")
    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr().err == ""
    otf2(made_up(calls=1000), tmp_path / "archive")
    assert [each.name for each in tmp_path.iterdir()] == ["archive"]
    assert read(tmp_path / "archive").calls == 1000


def test_an_interruption_leaves_no_part_of_an_archive(tmp_path, monkeypatch):
    pytest.importorskip("otf2", reason="the Python module otf2 is not installed")

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(_Archive, "_write_call", interrupted)
    with pytest.raises(KeyboardInterrupt):
        otf2(made_up(), tmp_path / "archive")
    assert list(tmp_path.iterdir()) == []


def test_an_archive_where_none_can_be_is_refused():
    pytest.importorskip("otf2", reason="the Python module otf2 is not installed")
    with pytest.raises(UserError, match="cannot write an archive .*: /proc/archive"):
        otf2(made_up(), Path("/proc/archive"))


def test_writing_without_the_module_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "otf2", None)
    with pytest.raises(TraceError, match="pip install otf2"):
        otf2(made_up(), tmp_path / "archive")


def test_without_the_module_the_error_says_what_to_install(tmp_path, monkeypatch):
    (tmp_path / "traces.otf2").write_text("")
    monkeypatch.setitem(sys.modules, "otf2", None)
    with pytest.raises(TraceError, match="pip install otf2"):
        read(tmp_path)


def test_wrong_archives_are_named(tmp_path):
    pytest.importorskip("otf2", reason="the Python module otf2 is not installed")
    (tmp_path / "traces.otf2").write_text("no archive")
    with pytest.raises(TraceError, match=r"traces.otf2: OTF2 cannot read it"):
        read(tmp_path)
    (tmp_path / "more.otf2").write_text("no archive")
    with pytest.raises(TraceError, match="one archive a folder"):
        read(tmp_path)


def test_names_of_a_program_are_escaped(tmp_path, capsys):
    folder = write(tmp_path / "archive", host=HOSTILE, name=HOSTILE)
    page = tmp_path / "page.html"
    assert run(["report", str(folder), "--html", str(page), "--budget", "0"]) == 0
    told = capsys.readouterr()
    assert "\x1b" not in told.out + told.err
    text = page.read_text(encoding="utf-8")
    assert "alert(1)" in text
    assert "<script>alert" not in text
    assert "\x1b" not in text


CUT = """
import sys
from latecomer.report.trace import TraceError, read
try:
    read(sys.argv[1])
except TraceError as error:
    print(error)
"""


@pytest.mark.parametrize("part", ["traces.otf2", "traces.def", "traces/0.evt", "traces/1.evt"])
def test_archives_that_were_cut_off_are_refused_or_read(tmp_path, part):
    """In a process of its own: the format is read by OTF2's library, which may end it."""
    whole = write(tmp_path / "whole")
    length = (whole / part).stat().st_size
    for keep in (0, length // 3, length - 5):
        folder = tmp_path / f"cut{keep}"
        shutil.copytree(whole, folder)
        (folder / part).write_bytes((whole / part).read_bytes()[:keep])
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        ended = subprocess.run([sys.executable, "-c", CUT, folder], env=env, capture_output=True,
                               text=True, timeout=600, check=False)  # fmt: skip
        assert (ended.returncode, keep) == (0, keep), ended.stderr
        assert not ended.stdout or str(folder) in ended.stdout


def _cut(folder, part, keep):
    raw = (folder / part).read_bytes()
    (folder / part).write_bytes(raw[:keep])
    return folder


USED = """
import sys
from latecomer.report.trace import read
trace = read(sys.argv[1])
for group in trace.groups:
    known = group.whole()
    late = group.arrival[known, 1] - group.arrival[known, 0]
    print(group.size, known.sum(), abs(late - 0.004).max() if known.any() else 0)
print(*trace.remarks, sep="\\n")
"""


def _used(folder):
    """By size of the group, its calls that are known, and the remarks. In a process of its own:
    what the library wrote here is in its memory, and it may take that for what was cut."""
    told = _said(USED, folder)
    groups = [line.split() for line in told if line[:1].isdigit()]
    late = [float(off) for size, _, off in groups if size == "3"]
    return {int(size): int(known) for size, known, _ in groups}, late, told[len(groups) :]


def _said(code, *folders):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run([sys.executable, "-c", code, *folders], env=env, capture_output=True,
                          text=True, timeout=600, check=True).stdout.splitlines()  # fmt: skip


@pytest.mark.parametrize("keep", [0, 10, 53])
def test_a_rank_whose_event_file_was_cut_is_left_out_and_the_file_is_named(tmp_path, keep):
    calls, _, remarks = _used(_cut(write(tmp_path / "archive"), "traces/2.evt", keep))
    assert calls[2] == CALLS
    assert any("traces/2.evt" in each for each in remarks)


def test_events_before_the_cut_of_a_rank_are_used(tmp_path):
    """The file is longer than a chunk. Behind the cut the library repeats events, without an end;
    or it takes what another rank's events left in its memory."""
    folder = write(tmp_path / "archive", calls=6000)
    length = (folder / "traces/1.evt").stat().st_size
    calls, late, remarks = _used(_cut(folder, "traces/1.evt", length * 9 // 10))
    assert 5390 <= calls[3] <= 5400
    assert max(late) < 2e-6
    assert any("traces/1.evt" in each for each in remarks)


def test_a_file_with_too_few_events_is_named(tmp_path):
    """So it seems where a file was cut, and the library sees an end in what its memory holds."""
    folder, shorter = (write(tmp_path / name, calls=calls)
                       for name, calls in (("archive", 20), ("shorter", 10)))  # fmt: skip
    shutil.copy(shorter / "traces/1.evt", folder / "traces/1.evt")
    calls, _, remarks = _used(folder)
    assert calls[3] == 10
    assert any("traces/1.evt" in each for each in remarks)


REFUSED = """
import sys
from latecomer.report.trace import TraceError, read
for folder in sys.argv[1:]:
    try:
        print("read", read(folder))
    except TraceError as error:
        print(error)
"""


@pytest.mark.parametrize("part", ["traces.otf2", "traces.def", "traces/0.def", "traces/0.evt"])
def test_the_file_that_was_cut_is_named(tmp_path, part):
    """At each seventh byte of an archive of two ranks: of one alone no call can be used."""
    pytest.importorskip("otf2", reason="the Python module otf2 is not installed")
    whole = Path(__file__).parent / "corpus" / "otf2"
    folders = []
    for keep in range(0, (whole / part).stat().st_size - 2, 7):
        folder = tmp_path / f"cut{keep}"
        shutil.copytree(whole, folder)
        folders.append(_cut(folder, part, keep))
    said = _said(REFUSED, *folders)
    assert len(said) == len(folders)
    for folder, line in zip(folders, said, strict=True):
        assert part in line, (folder, line)


@pytest.mark.parametrize("dies", [[None], [None, 0]])
def test_where_the_library_ends_each_rank_is_read_by_itself(tmp_path, monkeypatch, dies):
    """Behind a cut it goes by what its memory holds, which may end its process."""
    folder = write(tmp_path / "archive", calls=20)
    recorded = otf2_archive._recorded

    def ends(anchor, otf2, only, still):
        if only in dies:
            os.kill(os.getpid(), signal.SIGKILL)
        return recorded(anchor, otf2, only, still)

    whole = read(folder)
    monkeypatch.setattr(otf2_archive, "_recorded", ends)
    found = read(folder)
    assert found.ranks == whole.ranks
    lost = [rank for rank in dies if rank is not None]
    said = " ".join(found.remarks)
    assert [rank for rank in range(whole.ranks) if f"traces/{rank}.def or " in said] == lost
    assert bool(found.groups) is bool(whole.groups)


def _dies(still):
    os.kill(os.getpid(), signal.SIGKILL)


def _stops(still):
    still()
    time.sleep(1000)


def _leaves(still):
    os._exit(3)


@pytest.mark.parametrize(("work", "said"), [
    (_dies, "its process ended by signal 9"), (_leaves, "exit code 3"), (_stops, "no step in"),
])  # fmt: skip
def test_a_library_that_ends_or_stops_is_named_with_the_file(tmp_path, work, said):
    with pytest.raises(TraceError, match=rf"a\.otf2: its library .*: {said}"):
        alone(tmp_path / "a.otf2", work, 0.2)


def test_an_archive_that_stops_the_library(tmp_path, monkeypatch):
    """A string of the anchor file without an end."""
    monkeypatch.setattr(otf2_archive, "STILL", 1.0)
    folder = write(tmp_path / "archive")
    raw = (folder / "traces.otf2").read_bytes()
    (folder / "traces.otf2").write_bytes(raw[:16] + raw[20:-4])
    with pytest.raises(TraceError, match=r"traces\.otf2: "):
        read(folder)


def test_calls_that_are_wrong_are_left_out(tmp_path):
    otf2 = pytest.importorskip("otf2", reason="the Python module otf2 is not installed")
    with otf2.writer.open(str(tmp_path / "archive"), timer_resolution=1_000_000) as trace:
        define, mpi, kinds = trace.definitions, otf2.Paradigm.MPI, otf2.GroupType
        node = define.system_tree_node("node0")
        processes = [
            define.location_group(f"MPI {rank}", system_tree_parent=node) for rank in range(2)
        ]
        ranks = [define.location("thread", group=process) for process in processes]
        define.group("", group_type=kinds.COMM_LOCATIONS, paradigm=mpi, members=ranks)
        group = define.group("", group_type=kinds.COMM_GROUP, paradigm=mpi, members=ranks)
        both, none = define.comm("", group=group), otf2.Undefined.UINT32.value
        for writer in [trace.event_writer_from_location(rank) for rank in ranks]:
            writer.mpi_collective_end(5, otf2.CollectiveOp.ALLREDUCE, both, none, 8, 8)
            for at, name in ((10, "ALLREDUCE"), (20, "CREATE_HANDLE"), (30, "ALLREDUCE")):
                writer.mpi_collective_begin(at)
                kind = getattr(otf2.CollectiveOp, name)
                writer.mpi_collective_end(at + 5, kind, both, none, 8, 8)
    trace = read(tmp_path / "archive")
    assert [len(group) for group in trace.groups] == [2]
    assert any("without a beginning (2)" in each for each in trace.remarks)
    assert any("no known name (2)" in each and "CREATE_HANDLE" in each for each in trace.remarks)
