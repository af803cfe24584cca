"""What a classifier predicts for labelled texts, and how good that is."""
