"""Who comes in: everybody, or who knows the password, or who logs in by OpenID Connect.

Streamlit's secrets say which: `password = "..."`, or the section [auth] that `st.login` reads. With
both, either will do.
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

_SHORTEST = 12  # characters of a password
_LONGEST_WAIT = 60.0  # seconds after a wrong one
_tries = Rate()


def passed() -> bool:
    """Whether this visitor is in; else what to do is on the page, and nothing else may be."""
    with error_boundary.shown():
        settings.apply()
        secrets = _secrets()
        ways = [name for name in ("password", "auth") if name in secrets]
        if not ways or st.session_state.get("let_in", False):
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
    """Streamlit's; empty where there is no file of them.

    Raises:
        ConfigError: There is one that can't be read: then nobody is let in.
    """
    if st.secrets.load_if_toml_exists():
        return st.secrets
    if any(Path(file).exists() for file in st.get_option("secrets.files")):
        raise ConfigError(
            "The secrets of this app can't be read, so that nobody can come in. Its operator has "
            "to mend the file secrets.toml."
        )
    return {}


def _logged_in() -> bool:
    return bool(st.user.get("is_logged_in", False))


def _is_user() -> bool:
    """Whether this one of those who have logged in may come in."""
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
            logs.tell("turned away", logging.WARNING)
            st.session_state.turned_away = True
        st.error("This account is none of those that may use the app; ask its operator.")
        st.button("Log out", on_click=st.logout)
    return known


def _ask_login(auth: Mapping[str, Any]) -> None:
    """A button for each provider; the one that needs no name is called "default"."""
    named = [name for name, value in auth.items() if isinstance(value, Mapping)]
    providers = [name for name in named if name not in ("client_kwargs", "default")]
    for provider in providers if "client_id" not in auth else ["", *providers]:
        if st.button(f"Log in with {error_boundary.plain(provider)}" if provider else "Log in"):
            try:
                st.login(provider or None)
            except StreamlitAuthError as error:
                raise ConfigError(
                    f"The login isn't set up: {error} Its operator finds how in SECURITY.md."
                ) from error


def _ask_password(password: object) -> None:
    """The field, and whether what was written in it is right.

    Raises:
        ConfigError: The operator's password is none.
        NotAllowedError: There were too many tries.
    """
    if not isinstance(password, str) or len(password) < _SHORTEST:
        raise ConfigError(
            f"The password in the secrets of this app must be a text of {_SHORTEST} characters or "
            "more, so that nobody can come in. Its operator has to mend the file secrets.toml."
        )
    with st.form("password form", border=False, width=400):
        given = st.text_input("Password", type="password", key="password")
        asked = st.form_submit_button("Log in")
    if not asked:
        return
    _slow_down()
    if hmac.compare_digest(given.encode(), password.encode()):
        st.session_state.let_in = True
        st.session_state.pop("wrong_passwords", None)
        logs.tell("login")
        st.rerun()
    state = st.session_state
    state.wrong_passwords = state.get("wrong_passwords", 0) + 1
    wait = min(2.0**state.wrong_passwords, _LONGEST_WAIT)
    state.next_password = time.monotonic() + wait
    logs.tell("wrong password", logging.WARNING)
    st.error(f"This is not the password. Try again in {wait:.0f} seconds.")


def _slow_down() -> None:
    """Refuses a try that comes too early, for this visitor or for all of them."""
    wait = st.session_state.get("next_password", 0.0) - time.monotonic()
    wait = wait if wait > 0 else _tries.take(settings.current().password_tries_per_minute)
    if wait > 0:
        logs.tell("refused", logging.WARNING, limit="passwords")
        raise NotAllowedError(f"There were too many tries; wait {wait:.0f} seconds.")
