"""One rank of mpi4py's own tests: python mpi4py_rank.py FOLDER main.py ARGUMENTS...

Runs main.py of the tests, and writes the outcome of each test by name to FOLDER/outcomes-RANK.json.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
import unittest
from pathlib import Path
from typing import Any

RANKS = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK")
OUTCOMES: dict[str, str] = {}


class Result(unittest.TextTestResult):
    """Notes each outcome; a test that was noted as failed stays so."""

    def addSuccess(self, test: unittest.TestCase) -> None:  # noqa: N802 - unittest's names
        OUTCOMES.setdefault(test.id(), "passed")
        super().addSuccess(test)

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:  # noqa: N802
        OUTCOMES.setdefault(test.id(), "skipped")
        super().addSkip(test, reason)

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:  # noqa: N802
        OUTCOMES[test.id()] = "failed"
        super().addFailure(test, err)

    def addError(self, test: unittest.TestCase, err: Any) -> None:  # noqa: N802
        OUTCOMES[test.id()] = "error"
        super().addError(test, err)

    def addSubTest(self, test: unittest.TestCase, subtest: unittest.TestCase, err: Any) -> None:  # noqa: N802
        if err is not None:
            OUTCOMES[test.id()] = "failed"
        super().addSubTest(test, subtest, err)


def main() -> None:
    folder, script = Path(sys.argv[1]), sys.argv[2]
    unittest.TextTestRunner.resultclass = Result
    sys.argv[:] = sys.argv[2:]
    sys.path.insert(0, str(Path(script).parent))
    rank = next((os.environ[name] for name in RANKS if name in os.environ), "0")
    try:
        runpy.run_path(script, run_name="__main__")
    finally:
        file = folder / f"outcomes-{rank}.json"
        file.write_text(json.dumps(OUTCOMES), encoding="utf-8")


if __name__ == "__main__":
    main()
