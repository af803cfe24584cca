"""A trained model outside of Python: one HTML file that explains texts by itself."""
