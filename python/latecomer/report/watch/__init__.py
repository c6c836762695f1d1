"""Who is late in a job that runs: its trace files as they grow."""
