"""Collectives on the virtual network, over lists of ranks and sizes."""
