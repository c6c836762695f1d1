"""Published results beside ours: data of papers, networks fitted on their baselines, predictions."""
