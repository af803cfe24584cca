"""Faithfulness of explanations: whether scores depend on the shown words; random controls."""
