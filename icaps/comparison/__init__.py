"""Several classifiers on the same texts."""
