"""Options that bench and simulate share: words, arrival patterns, lists of numbers."""
