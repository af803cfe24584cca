"""The page Many texts."""
