"""Readers of file formats, each a stream of rows with a bound on memory."""
