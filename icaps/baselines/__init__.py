"""Plain classifiers of texts to stand beside the capsule network."""
