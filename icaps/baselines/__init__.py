"""Baselines: other text classifiers to compare the capsule network with."""
