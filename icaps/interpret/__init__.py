"""Explanations of one text and of a whole corpus (section 2.6)."""
