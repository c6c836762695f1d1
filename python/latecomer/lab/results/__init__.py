"""Samples of calls, and the rows of statistics that are made of them."""
