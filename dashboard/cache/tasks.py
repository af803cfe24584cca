"""The commands at work for visitors, kept between reruns and shared by sessions."""

import streamlit as st

from dashboard import quotas
from dashboard.tasks import Task

_TASKS = 50  # commands whose end is remembered


@st.cache_resource
def started() -> dict[tuple[str, ...], Task]:
    """The commands that this server has started for its visitors, by their arguments."""
    return {}


def start(arguments: tuple[str, ...]) -> None:
    """Starts a command; of those that have ended the oldest are forgotten.

    Raises:
        NotAllowedError: Too many are at work.
        RunError: It can't be started.
    """
    known = started()
    quotas.new_task(task.running for task in known.values())
    known[arguments] = Task(arguments)
    ended = [key for key, task in known.items() if not task.running and key != arguments]
    for key in ended[: max(len(known) - _TASKS, 0)]:
        del known[key]
