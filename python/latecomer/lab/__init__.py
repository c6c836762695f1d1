"""Questions to the emulated cluster, to this machine's MPI and to the virtual network."""
