"""An HTTP service of trained models: predictions and explanations as JSON."""
