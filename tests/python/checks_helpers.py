"""Runs the checks of the sources."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def checked(name: str, tree: Path) -> subprocess.CompletedProcess[str]:
    """The outcome of tools/check_NAME.py for a tree."""
    command = [sys.executable, str(ROOT / "tools" / f"check_{name}.py"), str(tree)]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
