"""The benchmark: its options, the place where it runs, the job, and the result.

The verb imports these parts only when it is used: they need the compiled core, the lab does not.
"""
