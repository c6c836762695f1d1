"""Fits the parameters of a network, with intervals, to times of messages."""
