"""Tests behave the same inside of an MPI job, and whatever was calibrated on the machine."""

import os

import pytest


@pytest.fixture(autouse=True)
def _outside_of_jobs(monkeypatch, tmp_path):
    for name in list(os.environ):
        if name.startswith(("OMPI_COMM_WORLD", "PMI", "SLURM", "MPI_LOCAL")):
            monkeypatch.delenv(name)
    monkeypatch.delenv("LATECOMER_NETWORK", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))  # no one's calibration
