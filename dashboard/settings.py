"""The settings of this app, which its operator writes: one TOML file, read and checked."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

from icaps.data.download import ASK, NETWORK_SETTING, NEVER
from icaps.errors import ConfigError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SETTING = "ICAPS_SETTINGS"  # environment variable with the path of the file
DEFAULTS = Path(__file__).with_name("settings.toml")
_MAY_BE_ZERO = {"uploads_days"}
_MAX = 10**9


@dataclass(frozen=True)
class AppSettings:
    """The settings; `settings.toml` explains each, and holds the defaults."""

    read_only: bool
    confined: bool
    data_roots: tuple[str, ...]
    network: str
    users: tuple[str, ...]
    text_characters: int
    table_rows: int
    upload_mb: int
    uploads_mb: int
    uploads_days: int
    slices: int
    label_tasks: int
    corrections: int
    runs: int
    jobs: int
    jobs_waiting: int
    tasks: int
    requests_per_minute: int
    requests_per_minute_together: int
    password_tries_per_minute: int
    log_tracebacks: bool

    @property
    def downloads(self) -> bool:
        """Whether anything may be downloaded."""
        return self.network == ASK and not self.read_only


def current() -> AppSettings:
    """The current settings; the file is read again when it changes.

    Raises:
        ConfigError: A file can't be read, or has an unknown key or an invalid value.
    """
    given = os.environ.get(SETTING)
    path = Path(given) if given else DEFAULTS
    return _settings(path, _stamp(path))


def apply() -> AppSettings:
    """The current settings; processes that are started from now on inherit a ban on downloads.

    Raises:
        ConfigError: As `current`.
    """
    settings = current()
    if not settings.downloads:
        os.environ[NETWORK_SETTING] = NEVER
    return settings


def _stamp(path: Path) -> tuple[int, int]:
    try:
        state = path.stat()
        return state.st_mtime_ns, state.st_size
    except OSError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: Exception) -> ConfigError:
    return ConfigError(
        f"The settings {path} can't be read ({error}). Fix the file, or the environment variable "
        f"{SETTING}, which names it."
    )


@lru_cache(maxsize=8)
def _settings(path: Path, stamp: tuple[int, int]) -> AppSettings:
    """The settings of a file with this time stamp; what it leaves out has its default."""
    return AppSettings(**{**_read(DEFAULTS), **_read(path)})


def _read(path: Path) -> Mapping[str, Any]:
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:  # ValueError: not TOML, or not UTF-8
        raise _unreadable(path, error) from error
    kinds = {field.name: field.type for field in fields(AppSettings)}
    unknown = sorted(values.keys() - kinds)
    if unknown:
        raise ConfigError(
            f"{path} has the key {unknown[0]!r}, which is not a setting of this app. The settings "
            f"are {', '.join(kinds)}."
        )
    return {name: _checked(name, value, kinds[name], path) for name, value in values.items()}


def _checked(name: str, value: Any, kind: Any, path: Path) -> Any:
    """The value in the type of its setting.

    Raises:
        ConfigError: It has another type, or is out of range.
    """
    if kind is bool and isinstance(value, bool):
        return value
    least = 0 if name in _MAY_BE_ZERO else 1
    if kind is int and type(value) is int and least <= value <= _MAX:
        return value
    if kind is str and value in (ASK, NEVER):
        return value
    texts = isinstance(value, list) and all(isinstance(part, str) and part for part in value)
    if kind not in (bool, int, str) and texts:
        return tuple(value)
    wanted = {
        bool: "true or false",
        int: f"a whole number from {least} to {_MAX:,}",
        str: f'"{ASK}" or "{NEVER}"',
    }.get(kind, "a list of non-empty texts")
    raise ConfigError(f"{path} sets {name} to {value!r}; it must be {wanted}.")
