"""Errors, output, environment variables and memory: every other package may use them."""
