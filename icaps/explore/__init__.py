"""Exploration of a data set: statistics, search, duplicates, neighbours, label issues."""
