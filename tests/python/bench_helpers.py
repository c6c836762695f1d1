"""Common functions of the tests of the bench verb."""

import io
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass

from latecomer import cli

QUICK = ["--iterations", "3", "--warmup", "1", "--compute", "1ms", "--bytes", "4KiB"]
TWO = ["--algorithms", "native,ring"]


@dataclass(frozen=True)
class Result:
    exit_code: int
    stdout: str
    stderr: str


def run(*words: str) -> Result:
    return run_verb("bench", *words)


def run_verb(*words: str) -> Result:
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = cli.run(words)
    return Result(code, out.getvalue(), err.getvalue())
