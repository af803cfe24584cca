"""Explanations of any number of texts: as columns, from files to files, and on other engines."""
