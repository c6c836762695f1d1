"""Tests behave the same inside of an MPI job, in any terminal, and whatever was calibrated here."""

import functools
import os
import signal

import pytest
from lab_helpers import SMALL
from latecomer.lab import cluster
from latecomer.lab.cluster import privilege
from recorder_helpers import recorder

# Started in the background by a shell, Python finds interrupts ignored; so would the programs that
# tests interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _outside_of_jobs(monkeypatch, tmp_path):
    for name in list(os.environ):
        if name.startswith(("OMPI_COMM_WORLD", "PMI", "SLURM", "MPI_LOCAL")):
            monkeypatch.delenv(name)
    monkeypatch.delenv("LATECOMER_NETWORK", raising=False)
    monkeypatch.delenv("COLUMNS", raising=False)  # the width of tables
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))  # no one's calibration


@pytest.fixture(scope="session")
def recorder_of(tmp_path_factory):
    """The recorder for an MPI library, which takes seconds to compile."""
    return functools.cache(lambda name: recorder(name, tmp_path_factory.mktemp(name)))


@pytest.fixture(scope="module")
def namespaces():
    try:
        privilege.sandbox()
    except cluster.LabError as error:
        pytest.skip(f"no lab here: {error}")


@pytest.fixture(scope="module")
def spec(namespaces):
    return cluster.settle(cluster.LabSpec(**SMALL))
