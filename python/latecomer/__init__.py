"""latecomer: MPI collectives that stay fast when the ranks do not arrive together."""
