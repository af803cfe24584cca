"""A trained model elsewhere: one HTML file that explains texts by itself, and a model of MLflow."""
