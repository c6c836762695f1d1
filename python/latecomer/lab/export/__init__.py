"""Rules as tuning files of MPI libraries (docs/rules.md)."""
