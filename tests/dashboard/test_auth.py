"""Who comes in: nothing of the app is shown, or done, before."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from streamlit import config
from streamlit.testing.v1 import AppTest

from dashboard import auth, quotas
from dashboard.cache import data, explanations, models
from tests.dashboard.visitor import HOME, errors, page_html, run, verdict

PASSWORD = "correct horse battery"
AUTH = {
    "redirect_uri": "http://localhost:8501/oauth2callback",
    "cookie_secret": "x" * 40,
    "client_id": "id",
    "client_secret": "secret",
    "server_metadata_url": "https://id.example.org/.well-known/openid-configuration",
}
PAGES = ("explain", "many", "capsules", "queries", "datasets", "train")


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time by which tries are slowed down; no tries so far."""
    now = [1000.0]
    monkeypatch.setattr(auth.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(auth, "_attempts", quotas.Rate())
    return now


def visitor(page: str = "", user: dict[str, Any] | None = None, **secrets: Any) -> AppTest:
    at = AppTest.from_file(str(HOME), default_timeout=30)
    at.secrets.update(secrets)
    if user is not None:
        at.user = user
    if page:
        at.switch_page(f"../pages/{page}.py")
    return run(at)


def log_in(at: AppTest, password: str) -> AppTest:
    at.text_input(key="password").set_value(password)
    at.button[0].click()
    return run(at)


def is_shut(at: AppTest) -> bool:
    """Whether nothing of the app is on the page."""
    shown = [at.text_area, at.selectbox, at.dataframe, at.sidebar, at.tabs, at.get("html")[1:]]
    assert page_html(at) == ""
    return at.title[0].value == "Log in" and not any(len(part) for part in shown)


@pytest.mark.parametrize("page", PAGES)
def test_no_page_shows_anything_before(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise AssertionError("it was read")

    monkeypatch.setattr(explanations, "explain", fail)
    for name in ("load", "report"):
        monkeypatch.setattr(models, name, fail)
    for name in ("first_rows", "index"):
        monkeypatch.setattr(data, name, fail)
    assert is_shut(visitor(page, password=PASSWORD))
    assert is_shut(visitor(page, {"is_logged_in": False}, auth=AUTH))
    assert is_shut(visitor(page, {}, auth=AUTH))


def test_the_password_lets_in_for_the_session() -> None:
    at = visitor(password=PASSWORD)
    log_in(at, PASSWORD)
    assert not at.error
    assert verdict(at) in ("Cooking", "Gardens", "Sailing")
    assert "password" not in at.session_state
    assert verdict(run(at))
    assert is_shut(visitor(password=PASSWORD))  # another visitor


@pytest.mark.parametrize("wrong", ["", "correct horse", PASSWORD + " ", PASSWORD.upper(), "é" * 20])
def test_nothing_else_does(wrong: str) -> None:
    at = log_in(visitor(password=PASSWORD), wrong)
    assert errors(at) == ["Wrong password. Try again in 2 seconds."]
    assert is_shut(at)


def test_tries_are_slowed_down(clock: list[float]) -> None:
    at = visitor(password=PASSWORD)
    for seconds in (2, 4, 8, 16, 32, 60, 60):
        log_in(at, "wrong password")
        assert errors(at) == [f"Wrong password. Try again in {seconds} seconds."]
        clock[0] += seconds - 1
        log_in(at, PASSWORD)  # too early, whether it is right or not
        assert errors(at) == ["Too many attempts; wait 1 seconds."]
        assert is_shut(at)
        clock[0] += 1
    assert verdict(log_in(at, PASSWORD))


def test_tries_of_all_visitors_are_counted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "settings.toml").write_text("password_tries_per_minute = 2\n")
    monkeypatch.setenv("ICAPS_SETTINGS", str(tmp_path / "settings.toml"))
    for _ in range(2):
        log_in(visitor(password=PASSWORD), "wrong password")
    at = log_in(visitor(password=PASSWORD), PASSWORD)
    assert errors(at)[0].startswith("Too many attempts; wait ")
    assert is_shut(at)


@pytest.mark.parametrize("password", ["", "short", 12345678901234, ["a" * 20], True])
def test_a_password_that_is_none_lets_nobody_in(password: object) -> None:
    at = visitor(password=password)
    assert "must be a text of 12 or more characters" in errors(at)[0]
    assert is_shut(at)


def test_secrets_that_cannot_be_read_let_nobody_in(tmp_path: Path) -> None:
    file = tmp_path / "secrets.toml"
    file.write_text("password = ")
    before = config.get_option("secrets.files")
    config.set_option("secrets.files", [str(file)])
    try:
        at = visitor()
    finally:
        config.set_option("secrets.files", before)
    assert "secrets of this app can't be read, so nobody can log in" in errors(at)[0]
    assert page_html(at) == ""
    assert not at.text_area


def test_without_secrets_everybody_comes_in() -> None:
    assert verdict(visitor())
    assert verdict(visitor(other="a secret of another kind"))


def test_who_has_logged_in_comes_in() -> None:
    at = visitor(user={"is_logged_in": True, "email": "ann@example.org"}, auth=AUTH)
    assert verdict(at)


@pytest.mark.parametrize(
    ("user", "let_in"),
    [
        ({"email": "Ann@Example.org"}, True),
        ({"email": "bob@team.example"}, True),
        ({"email": "bob@team.example", "email_verified": True}, True),
        ({"email": "bob@team.example", "email_verified": False}, False),
        ({"email": "bob@other-team.example"}, False),
        ({"email": "ann@example.org.evil.example"}, False),
        ({"email": "annie@example.org"}, False),
        ({"email": ""}, False),
        ({}, False),
    ],
)
def test_only_those_that_are_named(
    user: dict[str, Any], let_in: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "settings.toml").write_text('users = ["ann@example.org", "@team.example"]\n')
    monkeypatch.setenv("ICAPS_SETTINGS", str(tmp_path / "settings.toml"))
    at = visitor(user={"is_logged_in": True, **user}, auth=AUTH)
    assert bool(at.text_area) is let_in
    if not let_in:
        assert errors(at)[0].startswith("This account may not use the app")
        assert page_html(at) == ""
        assert [button.label for button in at.button] == ["Log out"]


def test_a_button_for_each_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    providers: list[str | None] = []
    monkeypatch.setattr(auth.st, "login", providers.append)
    shared = {key: AUTH[key] for key in ("redirect_uri", "cookie_secret")}
    provider = {key: AUTH[key] for key in AUTH if key not in shared}
    at = visitor(user={}, auth={**shared, "google": provider, "work": provider})
    assert [button.label for button in at.button] == ["Log in with google", "Log in with work"]
    at.button[1].click()
    run(at)
    at = visitor(user={}, auth={**AUTH, "client_kwargs": {"prompt": "login"}})
    assert [button.label for button in at.button] == ["Log in"]
    at.button[0].click()
    run(at)
    assert providers == ["work", None]


def test_a_login_that_is_not_set_up_is_reported() -> None:
    at = visitor(user={}, auth={"client_id": "x"})
    at.button[0].click()
    run(at)
    assert errors(at)[0].startswith("The login is not configured: ")
    assert is_shut(at)


def test_password_or_login(clock: list[float]) -> None:
    both: Callable[[dict[str, Any]], AppTest] = lambda user: visitor(  # noqa: E731
        user=user, password=PASSWORD, auth=AUTH
    )
    assert is_shut(both({}))
    assert verdict(both({"is_logged_in": True}))
    at = both({})
    at.text_input(key="password").set_value(PASSWORD)
    at.button[1].click()
    assert verdict(run(at))
