"""Rejected by tools/check_layers.py: a package that the table does not name."""
