"""What makes the network fast: packed batches, dropout and the lookup table."""
