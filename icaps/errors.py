"""The errors that a user can cause, each message saying what to do about it."""


class ICapsError(Exception):
    """Base of every error that this library raises for a user's mistake."""


class ConfigError(ICapsError, ValueError):
    """A setting has an impossible value, an unknown name, or contradicts another."""


class DataError(ICapsError, ValueError):
    """A data set can't be read, or what it holds can't be trained on."""


class VectorsError(ICapsError):
    """Word vectors can't be read, downloaded or trained."""


class TrainingError(ICapsError):
    """A training can't go on: its loss is no number, or memory or the disk ran out."""


class RunError(ICapsError):
    """A run can't be started, stopped or deleted, or another process is at work in its folder."""


class CheckpointError(ICapsError):
    """A checkpoint folder is missing, damaged, foreign, or of another format version."""
