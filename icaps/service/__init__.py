"""Trained models for other programs: over HTTP, as tools for assistants, and in MLflow."""
