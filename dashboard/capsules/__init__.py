"""The page Capsules."""
