"""The page Datasets."""
