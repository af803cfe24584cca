"""Cached results, shared by all sessions and reruns.

Streamlit hashes the arguments, and so they are frozen: a `ModelFolder` and a `DataKey` differ as
soon as a file of the model or of the data has changed. Errors are not cached.
"""
