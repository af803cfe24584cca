"""Labelling: which texts a person labels next, and what was labelled so far."""
