"""Whether anything may be fetched from elsewhere."""

from __future__ import annotations

import os

from icaps.errors import ConfigError

NETWORK_SETTING = "ICAPS_NETWORK"
ASK, NEVER = "ask", "never"


def offline() -> bool:
    """Whether ICAPS_NETWORK is "never", so that nothing is downloaded even where it is asked for.

    Raises:
        ConfigError: It is neither "ask", which is the default, nor "never".
    """
    given = os.environ.get(NETWORK_SETTING) or ASK
    if given not in (ASK, NEVER):
        raise ConfigError(
            f"The environment variable {NETWORK_SETTING} is {given!r}; it must be {ASK!r} (what is "
            f"asked for by name is downloaded) or {NEVER!r}."
        )
    return given == NEVER
