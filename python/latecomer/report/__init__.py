"""Traces of jobs: their readers, what they say, and the page."""
