"""Authentication: none, a password, or a login by OpenID Connect.

Streamlit's secrets choose: `password = "..."`, or the section [auth] that `st.login` reads. With
both, either is sufficient.
"""

import hmac
import logging
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.errors import StreamlitAuthError

from dashboard import error_boundary, logs, settings
from dashboard.quotas import NotAllowedError, Rate
from icaps.errors import ConfigError

_MIN_LENGTH = 12  # characters of a password
_MAX_WAIT = 60.0  # seconds after a wrong password
_attempts = Rate()


def passed() -> bool:
    """Whether this visitor is logged in; if not, shows the login form, and no page may be shown."""
    with error_boundary.shown():
        settings.apply()
        secrets = _secrets()
        ways = [name for name in ("password", "auth") if name in secrets]
        if not ways or st.session_state.get("logged_in", False):
            return True
        if "auth" in ways and _logged_in():
            return _is_user()
        st.title("Log in", anchor=False)
        if "auth" in ways:
            _ask_login(secrets["auth"])
        if "password" in ways:
            _ask_password(secrets["password"])
    return False


def _secrets() -> Mapping[str, Any]:
    """Streamlit's secrets; empty if there is no secrets file.

    Raises:
        ConfigError: The file can't be read: then nobody can log in.
    """
    if st.secrets.load_if_toml_exists():
        return st.secrets
    if any(Path(file).exists() for file in st.get_option("secrets.files")):
        raise ConfigError(
            "The secrets of this app can't be read, so nobody can log in. The operator has to "
            "fix the file secrets.toml."
        )
    return {}


def _logged_in() -> bool:
    return bool(st.user.get("is_logged_in", False))


def _is_user() -> bool:
    """Whether a visitor who has logged in by OpenID Connect may use the app."""
    allowed = settings.current().users
    address = str(st.user.get("email", "")).lower()
    known = not allowed or (
        st.user.get("email_verified", True) is True
        and any(
            address.endswith(user.lower()) if user.startswith("@") else address == user.lower()
            for user in allowed
        )
    )
    if not known:
        if "turned_away" not in st.session_state:
            logs.write("turned away", logging.WARNING)
            st.session_state.turned_away = True
        st.error("This account may not use the app; ask the operator for access.")
        st.button("Log out", on_click=st.logout)
    return known


def _ask_login(auth: Mapping[str, Any]) -> None:
    """Shows a button per provider; the one without a name of its own is called "default"."""
    named = [name for name, value in auth.items() if isinstance(value, Mapping)]
    providers = [name for name in named if name not in ("client_kwargs", "default")]
    for provider in providers if "client_id" not in auth else ["", *providers]:
        if st.button(f"Log in with {error_boundary.plain(provider)}" if provider else "Log in"):
            try:
                st.login(provider or None)
            except StreamlitAuthError as error:
                raise ConfigError(
                    f"The login is not configured: {error} SECURITY.md explains how to set it up."
                ) from error


def _ask_password(password: object) -> None:
    """Shows the password field, and checks what was entered.

    Raises:
        ConfigError: The password in the secrets is not valid.
        NotAllowedError: There were too many attempts.
    """
    if not isinstance(password, str) or len(password) < _MIN_LENGTH:
        raise ConfigError(
            f"The password in the secrets of this app must be a text of {_MIN_LENGTH} or more "
            "characters, so nobody can log in. The operator has to fix the file secrets.toml."
        )
    with st.form("password form", border=False, width=400):
        given = st.text_input("Password", type="password", key="password")
        submitted = st.form_submit_button("Log in")
    if not submitted:
        return
    _limit_rate()
    if hmac.compare_digest(given.encode(), password.encode()):
        st.session_state.logged_in = True
        st.session_state.pop("wrong_passwords", None)
        logs.write("login")
        st.rerun()
    state = st.session_state
    state.wrong_passwords = state.get("wrong_passwords", 0) + 1
    wait = min(2.0**state.wrong_passwords, _MAX_WAIT)
    state.next_password = time.monotonic() + wait
    logs.write("wrong password", logging.WARNING)
    st.error(f"Wrong password. Try again in {wait:.0f} seconds.")


def _limit_rate() -> None:
    """Refuses an attempt above the rate limit of this visitor or of all visitors."""
    wait = st.session_state.get("next_password", 0.0) - time.monotonic()
    wait = wait if wait > 0 else _attempts.take(settings.current().password_tries_per_minute)
    if wait > 0:
        logs.write("refused", logging.WARNING, limit="passwords")
        raise NotAllowedError(f"Too many attempts; wait {wait:.0f} seconds.")
