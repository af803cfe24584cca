"""Shortcuts: K-grams that predictions depend on although they are not the topic of a class."""
