"""What a data set holds, before a model is trained on it."""
