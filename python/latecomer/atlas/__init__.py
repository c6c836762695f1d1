"""The atlas of arrivals: what programs' arrivals were, as files without any names."""
