"""The command line: its words as arguments of functions, and help.

A package of our own, since the help and a small simulation are to appear at once: typer brings
pydantic and rich, which took 0.3 s of processor time before a verb began.
"""
