"""Faithfulness of explanations: tests whether the shown words decide, beside random controls."""
