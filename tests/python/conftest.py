"""Tests behave the same inside of an MPI job."""

import os

import pytest


@pytest.fixture(autouse=True)
def _outside_of_jobs(monkeypatch):
    for name in list(os.environ):
        if name.startswith(("OMPI_COMM_WORLD", "PMI", "SLURM", "MPI_LOCAL")):
            monkeypatch.delenv(name)
