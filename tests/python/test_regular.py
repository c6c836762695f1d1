"""Files that are named on the command line: what is no regular file is refused, and none waits."""

import json
import os
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from kineto_helpers import check, job, remark, stored
from latecomer.base.regular_files import read as read_bytes
from latecomer.base.regular_files import read_text
from latecomer.core import networks
from latecomer.lab import rules
from latecomer.lab.options.arrivals import ArrivalError, read_delays
from latecomer.report.trace import read
from latecomer.report.trace.model import CONTROL
from test_rules import RING, entry, file_of

LIMIT = 600  # seconds, for a command that would wait for ever


@pytest.fixture
def pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    return str(tmp_path / "pipe")


def command(*words):
    return subprocess.run([sys.executable, "-m", "latecomer", *words], timeout=LIMIT, check=False,
                          capture_output=True, text=True, stdin=subprocess.DEVNULL)  # fmt: skip


@pytest.mark.parametrize("words", [
    ["simulate", "--ranks", "2", "--arrivals", "file:{0}"], ["simulate", "--network", "@{0}"],
    ["rules", "check", "{0}"], ["rules", "explain", "{0}"], ["verify", "{0}"],
])  # fmt: skip
def test_pipes_are_refused_and_not_waited_for(pipe, words):
    ended = command(*(each.format(pipe) for each in words))
    assert ended.returncode in (1, 2)
    assert pipe in ended.stderr
    assert "a pipe and no regular file" in ended.stderr


@pytest.mark.parametrize("name", ["/dev/zero", "/dev/null", "/", "/dev/tty"])
def test_what_is_no_regular_file_is_named(name):
    with pytest.raises(OSError, match="regular file|No such device") as error:
        read_bytes(Path(name))
    assert error.value.filename == name


def test_a_link_to_a_file_of_the_kernel_that_waits_ends_nothing(tmp_path):
    """/proc/kmsg says that it is regular, and waits for messages."""
    folder = stored(tmp_path, job())
    (folder / "a.json").symlink_to("/proc/kmsg")
    (folder / "run.json").symlink_to("/proc/kmsg")
    trace = read(folder)
    check(trace)
    assert "a.json, character 0: no JSON: end of the file" in remark(trace, "cannot be used")
    ended = command("report", str(folder), "--budget", "0")
    assert ended.returncode == 0


def test_the_mark_that_editors_begin_a_file_with_is_passed_over(tmp_path):
    file, mark = tmp_path / "file", b"\xef\xbb\xbf"
    file.write_bytes(mark + b"0,1ms\n")
    assert read_text(file) == "0,1ms\n"
    assert read_delays(file, 2) == [[0, 0.001]]
    file.write_bytes(mark + b"# place: here\nalpha=50us,beta=8ns\n")
    assert networks.load(file).facts == {"place": "here"}
    file.write_bytes(mark + json.dumps(file_of(entry(RING))).encode())
    assert rules.read(file).rule_count > 0


def test_a_lateness_that_no_simulation_takes_is_named_with_its_line(tmp_path):
    file = tmp_path / "late.csv"
    file.write_text("0,1\n0,1e300\n")
    with pytest.raises(ArrivalError, match=r"late.csv, line 2: lateness: '1e300'; give at most"):
        read_delays(file, 2)


def test_characters_that_act_or_hide_are_replaced():
    """All of Unicode's control and format characters, and separators of lines."""
    wrong = [chr(each) for each in range(0x110000)
             if unicodedata.category(chr(each)) in ("Cc", "Cf", "Zl", "Zp", "Cs")]  # fmt: skip
    assert {each.translate(CONTROL) for each in wrong} == {"\N{REPLACEMENT CHARACTER}"}
    shown = "äöü ß 漢字 עברית العربية é 👍 -_./<>"
    assert shown.translate(CONTROL) == shown
