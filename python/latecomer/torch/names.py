"""Names that PyTorch knows latecomer by."""

BACKEND = "latecomer"  # of init_process_group
SCHEME = "mpi"  # of init_method: "mpi://"
