"""Readers of file formats: each yields rows, and bounds the memory that it takes."""
