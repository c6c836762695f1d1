"""Figures about a trace: who is late, where, what it costs, and what would help."""
