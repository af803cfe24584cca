"""Attributions: scores of a text's words for its class, one module per method; see `registry`."""
