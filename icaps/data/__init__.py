"""Labelled texts from any file, folder or table in memory, and data sets by name."""
