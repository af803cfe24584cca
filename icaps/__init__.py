"""iCaps: interpretable capsule networks for text classification, after Wang, Hu and Ji (2020)."""
