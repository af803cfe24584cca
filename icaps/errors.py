"""Errors for users' mistakes. Each message says what is wrong and what to do about it."""


class ICapsError(Exception):
    """Base class of the errors that this library raises for a user's mistake."""


class ConfigError(ICapsError, ValueError):
    """A setting has an invalid value or an unknown name, or contradicts another setting."""


class DataError(ICapsError, ValueError):
    """A data set cannot be read, or is not suitable for training."""


class VectorsError(ICapsError):
    """Word vectors cannot be read, downloaded or trained."""


class TrainingError(ICapsError):
    """A training cannot continue: its loss is NaN or infinite, or memory or disk space ran out."""


class RunError(ICapsError):
    """A run cannot be started, stopped or deleted, or another process is using its folder."""


class WorkerError(ICapsError):
    """A worker process ended before its work was done."""


class CheckpointError(ICapsError):
    """A checkpoint folder is missing, damaged, of another format version, or not a checkpoint."""


class HubError(ICapsError):
    """A model cannot be read from the Hugging Face Hub, or cannot be written to it."""


class TrackingWarning(UserWarning):
    """What a training does cannot be logged any more; the training itself continues."""
