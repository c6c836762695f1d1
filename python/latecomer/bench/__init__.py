"""The benchmark: what is asked, where it runs, the job, and what comes out.

The verb imports these parts only when it is used: they need the compiled core, the lab does not.
"""
