"""A button that starts a command of `icaps` in its own process, and shows its progress."""

from collections.abc import Sequence

import streamlit as st

from dashboard import error_boundary, quotas, tasks
from dashboard.widgets import progress_bar
from icaps.cli import progress

POLL = 1.0  # seconds between two looks at a task
POLL_ENDS = 2.0  # the same on other pages than the one that shows the task
_MINE = "my tasks"  # of the session: what this visitor has started, with the messages at its end


def show(
    arguments: Sequence[str], label: str, help_text: str, done: str, primary: bool = False
) -> None:
    """A button, or while the command runs a bar with its time left and a button that stops it.

    The bar has the share of the texts and the time left if the command reports them, see
    `icaps.cli.progress.Progress.expect_texts`; else its last message.

    Args:
        arguments: The arguments of `icaps`; the page reads the result once the command has ended.
        label: The label of the button, and the name of the bar.
        help_text: What the command does, shown on hover.
        done: The message to the visitor who pressed the button, once the command has ended.
        primary: Whether it is the main button of the page.
    """
    key = tuple(arguments)
    task = tasks.started().get(key)
    if task is not None and task.running:
        st.fragment(_watch, run_every=POLL)(key, label)
        return
    if task is not None and task.failed:
        message = task.last_line.removeprefix("icaps: ")
        st.error(error_boundary.plain(message), icon=":material/error:")
    if quotas.read_only():
        st.info(quotas.READ_ONLY.format("this has not been computed."))
        return
    if st.button(
        error_boundary.plain(label),
        icon=":material/play_arrow:",
        help=error_boundary.plain(help_text),
        key=f"task {label}",
        type="primary" if primary else "secondary",
    ):
        tasks.start(key)
        st.session_state[_MINE] = _mine() | {key: done}
        st.rerun()


def notify_of_ended() -> None:
    """Notifies this visitor, on any page, of the commands that have ended of those he started.

    Others that run are looked at again every few seconds.
    """
    running = {}
    for key, done in _mine().items():
        task = tasks.started().get(key)
        if task is None:  # forgotten as one of the oldest
            continue
        if task.running:
            running[key] = done
        elif task.failed:
            message = error_boundary.plain(task.last_line.removeprefix("icaps: "))
            st.toast(message, icon=":material/error:", duration="long")
        else:
            message = error_boundary.plain(done)
            st.toast(message, icon=":material/check_circle:", duration="long")
    st.session_state[_MINE] = running
    if running:
        st.fragment(_watch_ends, run_every=POLL_ENDS)(tuple(running))


def _mine() -> dict[tuple[str, ...], str]:
    mine: dict[tuple[str, ...], str] = st.session_state.get(_MINE, {})
    return mine


def _watch_ends(keys: tuple[tuple[str, ...], ...]) -> None:
    """Runs the page again when one of these commands has ended."""
    found = [tasks.started().get(key) for key in keys]
    if not all(task is not None and task.running for task in found):
        st.rerun()


def _watch(key: tuple[str, ...], label: str) -> None:
    """The progress of a task, until the task ends."""
    task = tasks.started().get(key)
    if task is None or not task.running:
        st.rerun()
    progress_bar.show(label, task.last_line or "starting …", progress.share_of(task.last_line))
    if st.button("Stop", key=f"stop {label}"):
        _mine().pop(key, None)  # who stops it needs no message
        task.stop()
        st.rerun()
