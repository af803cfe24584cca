"""Data sets by name: where they are found, how they are fetched, and one that is made here."""
