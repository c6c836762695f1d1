"""Runs before and after a change, side by side: what became longer, for whom, and where."""
