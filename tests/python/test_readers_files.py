"""Files and folders of strangers: damaged text, odd names and kinds, hostile sizes."""

import gzip
import json
import os
from pathlib import Path

import numpy as np
import pytest
from kineto_helpers import (
    CALLS,
    LATE,
    RANKS,
    check,
    job,
    load,
    remark,
    store,
    stored,
)
from latecomer.report.analysis.lateness import analyse
from latecomer.report.trace import TraceError, chrome, files, read
from latecomer.report.trace.left_out import LeftOut


def test_a_rank_in_a_name_that_so_few_files_cannot_have(tmp_path):
    traces = job()
    for trace in traces:
        del trace["distributedInfo"]
    stored(tmp_path, traces)
    (tmp_path / "rank3.json").rename(tmp_path / "rank9999999.json")
    trace = read(tmp_path)
    assert trace.ranks == RANKS
    assert "(1)" in remark(trace, "files whose rank is too great for so many files")


# ---- damaged text

GOOD = json.dumps(job()[1], indent=1)


def between(text, inserted):
    """The text with something between two of its events."""
    at = text.index('"ph"', len(text) // 2)
    at = text.rindex("{", 0, at)
    return text[:at] + inserted + text[at:]


@pytest.mark.parametrize("inserted", [
    '{"ph": "X", "name": "a \x01 b\n c\ttab", "ts": 1, "dur": 1},',
    '{"ph": "X", "name": "C:\\Users\\x"},',
    '{"ph": "X", "name": "an "unescaped" quote"},',
    '{"ph": "X", "name": "x", "ts": nan, "dur": -inf},',
    '{"ph": "X", "name": "x", "ts": 1.#INF},',
    '{"ph": "X", "name": "x" "ts": 1},',
    '{"ph": "X", "name": "x", "args": {"a": 1,}},',
    '{"ph": "X", "ts": ' + "9" * 5000 + "},",
    '{"ph": "X", "args": ' + "[" * 100_000 + "]" * 100_000 + "},",
    '{"ph": "X", "args": ' + '{"ph":' * 2_000,
    '{"ph": "X", "name": "\\ud800 half"},',
    '{"ph": "X", "name": "\\udcff"},',
    "null, 1, [], {}, \"x\",", ",,", "{", "}", "]]", "\x00\x00",
])  # fmt: skip
def test_damage_between_events_is_passed_over(tmp_path, inserted):
    folder = stored(tmp_path, job())
    (folder / "rank1.json").write_text(between(GOOD, inserted))
    # A bracket too many ends the list; what follows is found again, or is missing.
    assert analyse(read(folder)).ranks.last[LATE] >= (CALLS // 2 if "]]" in inserted else CALLS)


def test_a_damaged_event_is_counted_with_its_place(tmp_path):
    folder = stored(tmp_path, job())
    (folder / "rank1.json").write_text(between(GOOD, '{"ph": "X", "name": "C:\\Users"},'))
    told = remark(read(folder), "events that are no JSON")
    assert "(1)" in told
    assert "rank1.json, character " in told


def test_values_beside_the_events_that_are_damaged(tmp_path):
    folder = stored(tmp_path, job())
    for wrong in ('"deviceProperties": [{"name": "a "b""}],', '"x": nan,', '"y": ,', '"z" 3,'):
        (folder / "rank1.json").write_text("{" + wrong + GOOD[1:])
        trace = read(folder)
        check(trace)
        assert "rank1.json" in remark(trace, "beside the events")


@pytest.mark.parametrize("change", [
    lambda raw: b"\xef\xbb\xbf" + raw,
    lambda raw: raw.replace(b"\n", b"\r\n"),
    lambda raw: raw.decode().encode("utf-16"),
    lambda raw: raw.replace(b'"name": "nccl', b'"x": "\xff\xfe\xed\xa0\x80", "name": "nccl'),
    lambda raw: b"\n \t" + raw + b"\n\0garbage",
    gzip.compress,
    lambda raw: gzip.compress(raw) + b"\0" * 100,
    lambda raw: gzip.compress(raw) + b"garbage",
    lambda raw: gzip.compress(raw[:5000]) + gzip.compress(raw[5000:]),
])  # fmt: skip
def test_encodings_of_a_file(tmp_path, change):
    folder = stored(tmp_path, job())
    (folder / "rank1.json").write_bytes(change(GOOD.encode()))
    check(read(folder))


def test_a_file_that_is_called_gz_and_is_none(tmp_path):
    folder = stored(tmp_path, job())
    (folder / "rank1.json").rename(folder / "rank1.json.gz")
    check(read(folder))


def test_every_cut_of_a_file_leaves_the_calls_before_it(tmp_path):
    folder = stored(tmp_path, job())
    for end in range(1, len(GOOD) - 3, 211):
        (folder / "rank1.json").write_text(GOOD[:end])
        whole = GOOD[:end].count('"Process Group Ranks"')
        try:
            trace = read(folder)
        except TraceError as error:
            # Nothing is known of rank 1, and where the file does not say its rank its name does.
            told, calls = str(error), 0
        else:
            told, calls = remark(trace, "ends of files"), analyse(trace).ranks.calls[1]
        assert "rank1.json" in told
        assert whole - 1 <= calls <= whole


@pytest.mark.parametrize("keep", [0.7, 0.9])
def test_a_gzip_file_that_was_cut(tmp_path, keep):
    folder = stored(tmp_path, job())
    raw = gzip.compress(GOOD.encode())
    (folder / "rank1.json").write_bytes(raw[: int(keep * len(raw))])
    trace = read(folder)
    assert 0 < analyse(trace).ranks.calls[1] < CALLS
    assert remark(trace, "ends of files")


def test_calls_that_are_counted_need_whole_files(tmp_path):
    """The host's threads are written one after the other, so a cut takes away every second call."""
    for rank in range(RANKS):
        store(tmp_path, rank, load(rank))
    text = (tmp_path / "rank1.json").read_text()
    (tmp_path / "rank1.json").write_text(text[: text.index('"gloo:', len(text) // 3)])
    trace = read(tmp_path)
    assert remark(trace, "without sequence numbers, in files of which a part is missing")
    assert all(np.isnan(group.arrival[:, 1]).all() for group in trace.groups)


# ---- files, names and folders


@pytest.mark.parametrize("name", [
    "worker{0}.169412820155{0}.pt.trace.json", "worker{0}_step_12.169412820155{0}.pt.trace.json",
    "rank{0}.json.gz", "Rank-{0}.pt.trace.json", "trace_{0}.json", "{0}.json", "r{0}.json",
    "job17-2024-01-03-rank_{0}.json", "rank{0}/trace.json", "{0}/host_4711.17671893121{0}.pt.trace.json",
    "node/rank{0}/step_100.json", "host_{0}.rank{0}.17671893121.json",
])  # fmt: skip
def test_ranks_are_known_from_names(tmp_path, name):
    for rank, trace in enumerate(job()):
        del trace["distributedInfo"]
        path = tmp_path / name.format(rank)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(trace))
    check(read(tmp_path))


@pytest.mark.parametrize("name", [
    "node1_471{0}.176718931212345678{0}.pt.trace.json", "node_471{0}.json",
    "trace-2024010{0}.json", "{0}0000.json",
])  # fmt: skip
def test_where_no_rank_is_known_the_error_says_what_to_call_the_files(tmp_path, name):
    for rank, trace in enumerate(job()):
        del trace["distributedInfo"]
        (tmp_path / name.format(rank + 1)).write_text(json.dumps(trace))
    with pytest.raises(TraceError, match=r"name them as in rank0.json \(4\)"):
        read(tmp_path)


def test_one_folder_a_rank(tmp_path):
    for rank, trace in enumerate(job()):
        stored(tmp_path / f"node{rank}", [trace])
    check(read(tmp_path))


def test_a_rank_with_two_files_has_the_first(tmp_path):
    traces = job()
    for rank, trace in enumerate(traces):
        store(tmp_path, rank, trace)
    late = json.loads(json.dumps(traces[0]))
    late["traceEvents"] = late["traceEvents"][:3]
    (tmp_path / "rank9.json").write_text(json.dumps(late))
    trace = read(tmp_path)
    check(trace)
    told = remark(trace, "keep one file a rank")
    assert "rank9.json" in told
    assert "rank 0 is in rank0.json" in told


def test_a_missing_rank_is_said(tmp_path):
    folder = stored(tmp_path, job())
    (folder / "rank3.json").unlink()
    trace = read(folder)
    assert trace.remarks == ["no file of rank 3, of 4 ranks"]
    assert analyse(trace).ranks.calls.tolist() == [0] * RANKS


def odd_things(folder):
    """Things that may lie beside traces, and must be neither waited for nor opened."""
    os.mkfifo(folder / "rank4.json")
    (folder / "rank5.json").mkdir()
    (folder / "rank6.json").symlink_to("/dev/zero")
    (folder / "rank7.json").symlink_to(folder / "nowhere")
    (folder / "empty.json").write_text("")
    (folder / "settings.json").write_text('{"a": [1, 2]}')
    (folder / "numbers.json.gz").write_bytes(b"\x1f\x8b no gzip")
    (folder / "notes.txt").write_text("notes")


def test_what_is_no_trace_is_passed_over(tmp_path):
    folder = stored(tmp_path, job())
    odd_things(folder)
    trace = read(folder)
    check(trace)
    assert "(4)" in remark(trace, "no regular file")
    assert "empty.json, character 0" in remark(trace, "cannot be used")
    assert remark(trace, "without a rank's collectives")
    assert "settings.json" in remark(trace, "files without traceEvents, where a trace has its ev")


def test_a_folder_of_odd_things_alone_is_refused_with_what_was_found(tmp_path):
    odd_things(tmp_path)
    with pytest.raises(TraceError, match="none of 3 files") as error:
        read(tmp_path)
    assert "a pipe" in str(error.value)
    assert "right would be one file for each rank" in str(error.value)


def test_a_link_to_a_trace_is_one(tmp_path):
    folder = stored(tmp_path / "there", job())
    (tmp_path / "here").mkdir()
    for rank in range(RANKS):
        (tmp_path / "here" / f"rank{rank}.json").symlink_to(folder / f"rank{rank}.json")
    check(read(tmp_path / "here"))


def test_a_file_that_may_not_be_read_is_named(tmp_path, monkeypatch):
    folder = stored(tmp_path, job())
    opened = files.regular_files.opened

    def closed(path):
        if path.name == "rank3.json":
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path)

    monkeypatch.setattr(files.regular_files, "opened", closed)
    trace = read(folder)
    assert "rank3.json: cannot be read: Permission denied" in remark(trace, "cannot be used")
    assert analyse(trace).incomplete == CALLS


def test_a_folder_without_traces_says_what_is_in_it(tmp_path):
    (tmp_path / "notes.txt").write_text("")
    with pytest.raises(TraceError, match=r"holds 1 other file, such as notes.txt.*rank-0.trace"):
        read(tmp_path)
    with pytest.raises(TraceError, match="no folder of a trace"):
        read(tmp_path / "none")


@pytest.mark.parametrize("key", ["rank", "world_size", "baseTimeNanoseconds", "host_name"])
@pytest.mark.parametrize("value", [-1, 1 << 40, "x", None, [], 0.5, float("nan")])
def test_a_wrong_value_beside_the_events_is_passed_over(tmp_path, key, value):
    traces = job()
    into = traces[1] if key in traces[1] else traces[1]["distributedInfo"]
    into[key] = value
    trace = read(stored(tmp_path, traces))
    assert analyse(trace).ranks.last[LATE] == CALLS
    if key != "host_name" and (key, value) != ("baseTimeNanoseconds", 1 << 40):
        assert "rank1.json" in remark(trace, f"values of {key}")


def test_a_file_that_lacks_its_base_of_times_has_that_of_the_others(tmp_path):
    traces = job()
    for trace in traces:
        trace["baseTimeNanoseconds"] += 123_456_789_000
    del traces[1]["baseTimeNanoseconds"]
    trace = read(stored(tmp_path, traces))
    check(trace)
    assert remark(trace, "bases of times")


def test_folders_that_are_closed_are_passed_over(tmp_path, monkeypatch):
    folder = stored(tmp_path / "traces" / "open", job()).parent
    (folder / "closed").mkdir()
    for name in ("iterdir", "is_dir", "is_file"):
        whole = getattr(Path, name)

        def refused(path, *, whole=whole, **words):
            if "closed" in path.name:
                raise PermissionError(13, "Permission denied", str(path))
            return whole(path, **words)

        with monkeypatch.context() as closed:
            closed.setattr(Path, name, refused)
            check(read(folder))


def test_a_file_that_may_not_be_looked_at_is_passed_over(tmp_path, monkeypatch):
    folder = stored(tmp_path, job())
    (folder / "closed.json").write_text("")
    is_file = Path.is_file

    def refused(path, **words):
        if path.name == "closed.json":
            raise PermissionError(13, "Permission denied", str(path))
        return is_file(path, **words)

    monkeypatch.setattr(Path, "is_file", refused)
    trace = read(folder)
    check(trace)
    assert "closed.json" in remark(trace, "no regular file (1)")


# ---- hostile sizes


def test_text_is_unpacked_up_to_a_multiple_of_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "FREE_BYTES", 1 << 20)
    folder = stored(tmp_path, job())
    with gzip.open(folder / "rank1.json.gz", "wb") as file:
        file.write(b'{"traceEvents":[')
        for _ in range(8):
            file.write(b" " * (1 << 20))
    trace = read(folder)
    check(trace)
    told = remark(trace, "cannot be used")
    assert "rank1.json.gz" in told
    assert "100 times" in told


EVENTS = '{"traceEvents": [' + "{}, " * 300 + "{}]}"
DAMAGED = '{"traceEvents": [' + '{"ph": }, ' * 5 + "{}]}"
BESIDE = "{" + '"a": 1, ' * 20 + '"traceEvents": []}'


@pytest.mark.parametrize(("text", "limits", "words"), [
    (EVENTS, {"MOST_EVENTS": 7}, "number of events: more than 7"),
    (EVENTS, {"MOST_DAMAGED": 3}, ""),
    (DAMAGED, {"MOST_DAMAGED": 3}, "damaged events: 4"),
    (BESIDE, {"MOST_BESIDE": 19}, "values beside the events: more than 19"),
    (DAMAGED + " " * 1000, {"FREE_EVENTS": 1, "most": 1000}, "more than 1000 bytes"),
])  # fmt: skip
def test_limits_of_a_file_are_named(tmp_path, monkeypatch, text, limits, words):
    most = limits.pop("most", files.MOST_BYTES) if "most" in limits else files.MOST_BYTES
    for name, value in limits.items():
        monkeypatch.setattr(chrome, name, value)
    path = tmp_path / "a.json"
    path.write_text(text)
    if not words:
        assert chrome.read(path, lambda event: None, LeftOut()).events == 301
        return
    with pytest.raises(TraceError, match=words) as error:
        chrome.read(path, lambda event: None, LeftOut(), most=most)
    assert "a.json" in str(error.value)


def test_packed_events_are_as_many_as_bytes(tmp_path, monkeypatch):
    monkeypatch.setattr(chrome, "FREE_EVENTS", 100)
    (tmp_path / "a.json").write_text(EVENTS)
    (tmp_path / "a.json.gz").write_bytes(gzip.compress(EVENTS.encode()))
    assert chrome.read(tmp_path / "a.json", lambda event: None, LeftOut()).events == 301
    with pytest.raises(
        TraceError, match=r"a.json.gz, character \d+: number of events: more than 100"
    ):
        chrome.read(tmp_path / "a.json.gz", lambda event: None, LeftOut())


@pytest.mark.parametrize(("limit", "most", "said"), [
    ("events.MOST_CALLS", CALLS - 1, "rank0.json: collectives: more than 19"),
    ("events.MOST_WORK", 5, "rank0.json: events of a device: more than 5; profile fewer steps"),
    ("events.MOST_MEMBERS", 3, "rank0.json: ranks in lists of groups: more than 3; use fewer gr"),
    ("kineto.MOST_CALLS", CALLS * 2, ": calls: more than 40; profile fewer steps"),
    ("files.MOST_FILES", 3, ": files of a trace: 4; right would be at most 3"),
])  # fmt: skip
def test_a_job_of_many_things_is_refused(tmp_path, monkeypatch, limit, most, said):
    monkeypatch.setattr(f"latecomer.report.trace.{limit}", most)
    with pytest.raises(TraceError) as raised:
        read(stored(tmp_path, job()))
    assert said in str(raised.value)


def test_the_window_moves_over_long_files(tmp_path, monkeypatch):
    """The same events, whatever part of the text is held."""
    monkeypatch.setattr(files, "_CHUNK", 501)
    for longest in (1500, 4001):
        monkeypatch.setattr(chrome, "LONGEST", longest)
        folder = stored(tmp_path, job())
        (folder / "rank1.json").write_text(
            between(GOOD, '{"ph": "X", "bad": "a "b" c"},' + " " * 9999)
        )
        check(read(folder))


def test_a_small_file_does_not_make_many_ranks(tmp_path):
    traces = [trace | {"distributedInfo": {"rank": rank}} for rank, trace in enumerate(job())]
    for trace in traces:
        trace["traceEvents"][3]["args"]["Process Group Ranks"] = "[0, 1, 2, 3, 900000]"
        trace["traceEvents"][3]["args"]["Group size"] = 5
    trace = read(stored(tmp_path, traces))
    assert trace.ranks == RANKS
    check(trace)


# ---- several formats in one folder


def junk(path):
    path.write_bytes(b"junk" * 10)


@pytest.mark.parametrize("name", ["rank-0.trace", "rank-3.trace", "x.otf2", "traces.otf2"])
@pytest.mark.parametrize("make", [Path.touch, Path.mkdir, junk, os.mkfifo])
def test_one_odd_file_of_another_format_ends_nothing(tmp_path, capfd, name, make):
    folder = stored(tmp_path, job())
    make(folder / name)
    trace = read(folder)
    check(trace)
    assert name in remark(trace, "files of another format")
    assert capfd.readouterr() == ("", "")


def test_where_no_format_can_be_read_the_first_is_told(tmp_path):
    (tmp_path / "rank-0.trace").touch()
    (tmp_path / "a.json").write_text("{}")
    with pytest.raises(TraceError, match="rank-0.trace, byte 0"):
        read(tmp_path)


# ---- damaged gzip files


@pytest.mark.parametrize("end", [b"\0" * 8, b"\1" * 8])
def test_a_wrong_checksum_loses_nothing(tmp_path, end):
    folder = stored(tmp_path, job())
    packed = gzip.compress((folder / "rank1.json").read_bytes())
    (folder / "rank1.json").unlink()
    (folder / "rank1.json.gz").write_bytes(packed[:-8] + end)
    trace = read(folder)
    check(trace)
    assert "rank1.json.gz" in remark(trace, "gzip checksum wrong")


def test_of_damaged_gzip_data_the_text_before_is_read(tmp_path):
    folder = stored(tmp_path, job())
    packed = bytearray(gzip.compress((folder / "rank1.json").read_bytes(), 1))
    packed[-60:-30] = b"\xff" * 30
    (folder / "rank1.json").unlink()
    (folder / "rank1.json.gz").write_bytes(packed)
    trace = read(folder)
    known = np.isfinite(trace.groups[0].arrival[:, 1]).sum()
    assert 0 < known < CALLS
    assert "rank1.json.gz" in remark(trace, "ends of files")


def test_a_gzip_file_of_damage_alone_is_told_as_such(tmp_path):
    folder = stored(tmp_path, job())
    (folder / "rank1.json").unlink()
    (folder / "rank1.json.gz").write_bytes(gzip.compress(b"x")[:10] + b"\xff" * 50)
    assert "damaged gzip data" in remark(read(folder), "files that cannot be used")
