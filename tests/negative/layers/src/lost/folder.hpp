// Rejected by tools/check_layers.py: a folder that the table does not name.
