"""Results for people to look at: plots and self-contained HTML pages."""
