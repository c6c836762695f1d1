"""Runs the simulate verb in this process."""

import csv
import io

from latecomer import cli

SMALL = ["--nodes", "4", "--bytes", "1KiB", "--algorithms", "ring,recursive_doubling"]
LONG = ["--algorithms", "segmented_ring:segments=1024", "--bytes", "4MiB", "--arrival", "balanced"]


def simulate(capsys, *words):
    code = cli.run(["simulate", *words])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def rows_of(capsys, *words):
    code, out, err = simulate(capsys, *words, "--format", "csv")
    assert code == 0, err
    return list(csv.DictReader(io.StringIO(out)))


def refusal(capsys, *words, code=2):
    """The only line that is said of a command line that is refused."""
    found, out, err = simulate(capsys, *words)
    assert (found, out) == (code, ""), err
    return err
