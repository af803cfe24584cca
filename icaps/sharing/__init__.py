"""A model on the Hugging Face Hub: its files, its README, and the methods of the estimator."""
