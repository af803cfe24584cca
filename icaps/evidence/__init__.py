"""Evidence to share: a report on a text, a card of a model, each the same wherever it is made."""
