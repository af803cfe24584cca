"""What the server does before its first visitor comes, so that nobody waits for it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from streamlit.starlette import App

from dashboard.catalogue import find_models
from icaps.errors import CheckpointError


@asynccontextmanager
async def ready(app: App) -> AsyncIterator[None]:
    """The life of the server, as `streamlit.App` takes it."""
    answer_first_question()
    yield


def answer_first_question() -> None:
    """Loads the model that the landing page chooses, and explains its text, as the page will."""
    # Not before: Streamlit's caches look for the server's runtime when they are made.
    from dashboard import cached, state, views  # noqa: F401

    models = find_models()
    if models:
        with suppress(CheckpointError):  # the page tells it, to each visitor
            cached.explain(models[0], *state.first_question())
