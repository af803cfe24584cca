"""A trained model outside of this library: one HTML file that explains texts by itself, MLflow."""
