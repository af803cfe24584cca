"""What the operator of this app allows, and how much: one file, read and checked."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

import tomllib

from icaps.data.download import ASK, NETWORK_SETTING, NEVER
from icaps.errors import ConfigError

SETTING = "ICAPS_SETTINGS"  # names the file
DEFAULTS = Path(__file__).with_name("settings.toml")
_MAY_BE_ZERO = {"uploads_days"}
_MOST = 10**9


@dataclass(frozen=True)
class AppSettings:
    """The settings; `settings.toml` says what each means, and has the defaults."""

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
    """The settings that hold now.

    Raises:
        ConfigError: A file can't be read, or has an unknown key or an impossible value.
    """
    given = os.environ.get(SETTING)
    path = Path(given) if given else DEFAULTS
    return _settings(path, _stamp(path))


def apply() -> AppSettings:
    """The settings, whose ban on the network holds from now on for the processes started, too.

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
        f"The settings {path} can't be read ({error}). Mend the file, or the environment variable "
        f"{SETTING} that names it."
    )


@lru_cache(maxsize=8)
def _settings(path: Path, stamp: tuple[int, int]) -> AppSettings:
    """Those of a file as it was at that time, and the defaults of what it leaves out."""
    return AppSettings(**{**_read(DEFAULTS), **_read(path)})


def _read(path: Path) -> Mapping[str, Any]:
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:  # ValueError: no TOML, or no UTF-8
        raise _unreadable(path, error) from error
    kinds = {field.name: field.type for field in fields(AppSettings)}
    unknown = sorted(found.keys() - kinds)
    if unknown:
        raise ConfigError(
            f"{path} has the key {unknown[0]!r}, which is no setting of this app. The settings are "
            f"{', '.join(kinds)}."
        )
    return {name: _checked(name, value, kinds[name], path) for name, value in found.items()}


def _checked(name: str, value: Any, kind: Any, path: Path) -> Any:
    """The value as the setting has it."""
    if kind is bool and isinstance(value, bool):
        return value
    least = 0 if name in _MAY_BE_ZERO else 1
    if kind is int and type(value) is int and least <= value <= _MOST:
        return value
    if kind is str and value in (ASK, NEVER):
        return value
    texts = isinstance(value, list) and all(isinstance(part, str) and part for part in value)
    if kind not in (bool, int, str) and texts:
        return tuple(value)
    wanted = {
        bool: "true or false",
        int: f"a whole number from {least} to {_MOST:,}",
        str: f'"{ASK}" or "{NEVER}"',
    }.get(kind, "a list of texts that aren't empty")
    raise ConfigError(f"{path} sets {name} to {value!r}; it must be {wanted}.")
