"""Results in files: whole or not at all, each in its own, and never over what is read."""

import os
import resource
from contextlib import contextmanager
from pathlib import Path

import pytest
from kineto_helpers import job, stored
from latecomer.base import whole_files
from latecomer.base.errors import UserError
from latecomer.base.whole_files import check_apart, fresh, write_text
from latecomer.cli import run
from trace_helpers import Files, arrivals_and_exits

SIMULATE = ["simulate", "--ranks", "4", "--bytes", "8KiB", "--algorithms", "ring"]
REPORT = ["report", "{trace}", "--budget", "0"]


@contextmanager
def full_after(size):
    """As on a full disk: no file can be longer."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.fixture
def trace(tmp_path):
    return Files(3).write(tmp_path / "trace", *arrivals_and_exits(12, 3))


@pytest.mark.parametrize(("words", "option", "name"), [
    (REPORT, "--html", "a.html"), (REPORT, "--csv", "a.csv"), (REPORT, "--perfetto", "a.json"),
    (REPORT, "", "trace/report.html"),
    (SIMULATE, "--output", "a.csv"), (SIMULATE, "--output", "a.json"),
    (SIMULATE, "--plot", "a.svg"), (SIMULATE, "--html", "a.html"),
    (["show", "ring", "-n", "4"], "--output", "a.txt"),
    (["show", "ring", "-n", "4"], "--svg", "a.svg"),
    (["show", "ring", "-n", "4"], "--html", "a.html"),
])  # fmt: skip
def test_what_was_there_stays_where_the_disk_is_full(tmp_path, trace, capsys, words, option, name):
    file = tmp_path / name
    file.write_text("before")
    words = [each.format(trace=trace) for each in words]
    with full_after(100):
        assert run([*words, option, str(file)] if option else words) == 1
    told = capsys.readouterr().err
    assert str(file) in told
    assert "File too large" in told
    assert file.read_text() == "before"
    assert not [path for path in file.parent.iterdir() if path.name.startswith(".latecomer")]
    assert run([*words, option, str(file)] if option else words) == 0
    assert file.read_text() != "before"


def test_a_file_keeps_its_mode_and_its_links(tmp_path):
    file, link = tmp_path / "a", tmp_path / "b"
    file.write_text("before")
    file.chmod(0o640)
    link.symlink_to(file)
    write_text(link, "after")
    assert link.is_symlink()
    assert file.read_text() == "after"
    assert file.stat().st_mode & 0o777 == 0o640
    mask = os.umask(0o027)
    try:
        write_text(tmp_path / "c", "new")
    finally:
        os.umask(mask)
    assert (tmp_path / "c").stat().st_mode & 0o777 == 0o640


def test_what_is_no_file_is_written_itself():
    write_text(Path(os.devnull), "text")
    with pytest.raises(OSError, match="No space left") as error:
        write_text(Path("/dev/full"), "text")
    assert error.value.filename == "/dev/full"
    read, write = os.pipe()
    write_text(Path(f"/dev/fd/{write}"), "text")
    os.close(write)
    assert os.read(read, 100) == b"text"
    os.close(read)


def test_an_error_leaves_nothing_behind(tmp_path):
    def half():
        with fresh(tmp_path / "a.svg", ".svg") as part:
            part.write_text("half")
            raise KeyError(part.suffix)

    with pytest.raises(KeyError, match=".svg"):
        half()
    assert list(tmp_path.iterdir()) == []


def test_a_collector_of_all_files_of_an_end_sees_none_twice(tmp_path):
    with fresh(tmp_path / "job.prom") as part:
        part.write_text("half")
        assert [each.name for each in tmp_path.iterdir() if each.suffix == ".prom"] == []
    assert list(tmp_path.glob("*.prom")) == [tmp_path / "job.prom"]


def refuse_new_files(*_args, **_more):
    raise PermissionError(13, "Permission denied")


def test_a_file_in_a_folder_of_others_is_written_in_place(tmp_path, monkeypatch):
    monkeypatch.setattr(whole_files.tempfile, "mkstemp", refuse_new_files)
    file = tmp_path / "a"
    with pytest.raises(PermissionError) as error:
        write_text(file, "new")
    assert error.value.filename == str(file)
    file.write_text("before")
    write_text(file, "after")
    assert file.read_text() == "after"


def test_a_file_that_may_not_be_written_is_refused_at_first(tmp_path, monkeypatch):
    file = tmp_path / "a"
    file.write_text("before")
    monkeypatch.setattr(whole_files.os, "access", lambda *_: False)
    with pytest.raises(whole_files.WriteError, match="cannot write --output: .*a; name a file"):
        whole_files.check_file("--output", file)


# ---- two in one


@pytest.mark.parametrize("options", [
    ["--csv", "a", "--perfetto", "a"], ["--csv", "a", "--html", "./a"], ["--csv", "b", "--html", "a"],
    ["--csv", "a", "--parquet", "c/../a"],
])  # fmt: skip
def test_two_results_in_one_file_are_refused(tmp_path, trace, monkeypatch, capsys, options):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c").mkdir()
    (tmp_path / "a").write_text("before")
    (tmp_path / "b").symlink_to("a")
    assert run(["report", str(trace), *options]) == 1
    assert "two results in one file" in capsys.readouterr().err
    assert (tmp_path / "a").read_text() == "before"


def test_two_results_of_a_simulation_in_one_file_are_refused(tmp_path, capsys):
    file = str(tmp_path / "a.svg")
    assert run([*SIMULATE, "--output", file, "--plot", file]) == 1
    assert "two results in one file" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--html", "--csv", "--perfetto"])
@pytest.mark.parametrize("of", ["trace", "profiler"])
def test_a_result_over_the_trace_is_refused(tmp_path, trace, capsys, option, of):
    folder = trace if of == "trace" else stored(tmp_path / "profiler", job())
    file = folder / ("rank-1.trace" if of == "trace" else "rank1.json")
    (tmp_path / "link").symlink_to(file)
    before = file.read_bytes()
    for name in (file, folder / ".." / folder.name / file.name, tmp_path / "link"):
        assert run(["report", str(folder), option, str(name)]) == 1
        assert "a result over a file that is read" in capsys.readouterr().err
        assert file.read_bytes() == before


def test_other_files_of_the_folder_can_be_replaced(trace):
    for _ in range(2):
        assert run(["report", str(trace), "--perfetto", str(trace / "calls.json")]) == 0


def test_devices_take_several_results(tmp_path):
    null = Path(os.devnull)
    check_apart([null, null])
    with pytest.raises(UserError, match="two results"):
        check_apart([tmp_path / "a", tmp_path / "x" / ".." / "a"])


def test_the_answer_comes_before_a_page_that_cannot_be_written(tmp_path, trace, capsys):
    """The name of a file that is not whole yet is never told."""
    (tmp_path / "file").touch()
    named = tmp_path / "file" / "a.html"
    why = "Not a directory"
    for option in (["--html", str(named)], ["--html", str(named), "--json"]):
        assert run(["report", str(trace), "--budget", "0", *option]) == 1
        told = capsys.readouterr()
        assert "Rank 1 on host node1 is late." in told.out
        said = f"no page: {named} cannot be written ({why}); name another file with --html"
        assert told.err.strip().endswith(said)
        assert ".latecomer" not in told.err
    (trace / "report.html").mkdir()
    assert run(["report", str(trace), "--budget", "0"]) == 1
    told = capsys.readouterr()
    assert told.out.startswith("who:   Rank 1 on host node1 is late.")
    assert f"no page: {trace / 'report.html'} cannot be written (Is a directory); name" in told.err


def test_a_folder_that_cannot_be_written_is_named_by_the_file(tmp_path):
    path = tmp_path / "none" / "a.csv"
    with pytest.raises(FileNotFoundError) as caught:
        write_text(path, "text")
    assert caught.value.filename == str(path)


def test_names_of_files_do_not_act_on_a_terminal(tmp_path, capsys):
    folder = Files(3).write(tmp_path / "a\x1b[31mb", *arrivals_and_exits(12, 3))
    assert run(["report", str(folder), "--budget", "0"]) == 0
    told = capsys.readouterr()
    assert "wrote " in told.err
    assert "\x1b" not in told.out + told.err
