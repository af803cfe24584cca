"""Labelled texts from any file, folder or table in memory, read as a stream."""
