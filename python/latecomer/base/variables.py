"""Environment variables: one that is empty counts as not set."""

from __future__ import annotations

import os

# Set by the module file (packaging/module/).
_OF_MODULE = ("HYDRA_CONFIG_FILE", "I_MPI_GTOOL", "OMPI_MCA_mca_base_env_list_internal",
              "PRTE_MCA_odls_base_exec_agent", "SLURM_EXPORT_ENV")  # fmt: skip


def variable(name: str) -> str | None:
    """The value of an environment variable; None: it is not set, or empty."""
    return os.environ.get(name) or None


def folders(name: str) -> list[str]:
    """The entries of a variable like PATH."""
    return [entry for entry in (variable(name) or "").split(":") if entry]


def forget_module() -> None:
    """Unset what the module file sets: ranks get the library by this command, or not at all."""
    for name in _OF_MODULE:
        if "latecomer" in os.environ.get(name, ""):
            del os.environ[name]
