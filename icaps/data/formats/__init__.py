"""Readers of file formats: each yields rows in bounded memory."""
