"""The command line: its words as arguments of functions, and help."""
