"""Measures which algorithms beat the MPI library's own collectives, and writes rules of it."""
