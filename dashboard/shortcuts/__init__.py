"""The page Shortcuts."""
