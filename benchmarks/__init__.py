"""Benchmarks, each a command: python -m benchmarks.NAME. README.md has the results."""
