"""Files to share: model cards, reports on a text, charts and pages."""
