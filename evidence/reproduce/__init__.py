"""Numbers of papers beside ours, on networks fitted to the papers' own baselines."""
