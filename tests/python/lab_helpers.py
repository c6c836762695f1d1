"""Runs the lab verb as users do."""

import os
import subprocess
import sys
from pathlib import Path

import latecomer

PACKAGE_FOLDER = str(Path(latecomer.__file__).parents[1])
MBIT = 10**6
SMALL = {"nodes": 3, "rate_bits_per_s": 200 * MBIT}


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "latecomer", "lab", *words]


def environment(**more: str) -> dict[str, str]:
    paths = [PACKAGE_FOLDER, os.environ.get("PYTHONPATH", "")]
    return os.environ | {"PYTHONPATH": ":".join(filter(None, paths))} | more


def call(*words: str, **options) -> subprocess.CompletedProcess:
    return subprocess.run(
        command(*words),
        env=environment(),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        **options,
    )
