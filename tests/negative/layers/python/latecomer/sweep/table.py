"""Its package imports report, which imports this package."""
