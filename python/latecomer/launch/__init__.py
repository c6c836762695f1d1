"""Starting programs: processes with a deadline, and the MPI libraries of this machine."""
