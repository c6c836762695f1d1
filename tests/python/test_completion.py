"""Completion and manual pages have all verbs and options that the command line has."""

import os
import re
import subprocess
import sys
from pathlib import Path

from latecomer import cli
from latecomer.command.declare import parameters
from latecomer.verbs.commands import COMMANDS

ROOT = Path(__file__).parents[2]


def run(capsys, *words):
    code = cli.run(words)
    said = capsys.readouterr()
    return code, said.out, said.err


COMPLETED = """
source {script}
complete() {{ COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _latecomer; echo "${{COMPREPLY[@]}}"; }}
complete latecomer veri
complete latecomer lab ru
complete latecomer lab run --clo
complete latecomer bench --place l
complete latecomer verify --algorithms rabens
complete latecomer show two_
complete latecomer simulate --arriv
"""


def test_words_are_completed_by_bash(capsys, tmp_path):
    code, out, err = run(capsys, "completion", "bash")
    assert (code, err) == (0, "")
    script = tmp_path / "latecomer"
    script.write_text(out)
    asked = COMPLETED.replace("complete()", "ask()").replace("\ncomplete ", "\nask ")
    done = subprocess.run(
        ["bash", "-c", asked.format(script=script)], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "verify", "run", "--clock-skew", "lab local", "rabenseifner", "two_tree", "--arrivals"
    ]  # fmt: skip
    assert run(capsys, "completion", "zsh")[1].endswith(out)
    assert "SHELL: 'tcsh'; give bash or zsh" in run(capsys, "completion", "tcsh")[2]


def declared():
    """The names of all options that each verb shows."""
    return {
        words: [
            name
            for each in parameters(verb)
            if not each.option.hidden
            for name in each.option.names
        ]
        for words, verb in COMMANDS.verbs()
    }


def test_each_option_is_completed_and_has_its_place_in_a_manual_page(capsys, tmp_path):
    (tmp_path / "latecomer").write_text(run(capsys, "completion", "bash")[1])
    asked = "".join(f"ask latecomer {path} --\n" for path in declared())
    start = COMPLETED.replace("complete()", "ask()").partition("complete ")[0]
    script = start.format(script=tmp_path / "latecomer") + asked
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    pages = tmp_path / "pages"
    pages.mkdir()
    (pages / "latecomer-gone.1").touch()  # of a verb that an older build had
    subprocess.run([sys.executable, ROOT / "tools/man_pages.py", pages, "1.2.3"], check=True,
                   env=os.environ | {"PYTHONPATH": str(ROOT / "python")})  # fmt: skip
    assert {file.name for file in pages.iterdir()} == {
        f"latecomer-{path.replace(' ', '-')}.1" for path in declared()
    }
    for (path, names), said in zip(declared().items(), done.stdout.splitlines(), strict=True):
        long = {name for name in names if name.startswith("--")}
        assert set(said.split()) == {*long, "--help"}, path
        page = (pages / f"latecomer-{path.replace(' ', '-')}.1").read_text()
        entries = re.findall(r"(?m)^\.TP\n\.B (.*)$", page.replace("\\-", "-"))
        told = [word for entry in entries for word in re.findall(r"(?<![\w-])--?[a-z0-9-]+", entry)]
        assert sorted(told) == sorted(names), path
        assert not [line for line in page.splitlines() if line.startswith("'")]
    page = (pages / "latecomer-show.1").read_text()
    assert page.startswith('.TH LATECOMER-SHOW 1 "" "latecomer 1.2.3" "latecomer"\n.SH NAME\n')
    assert "\n.B \\-n, \\-\\-ranks P\n" in page
