"""A button that starts a command of `icaps` in its own process, and shows its progress."""

from collections.abc import Sequence

import streamlit as st

from dashboard import error_boundary, quotas, tasks
from dashboard.widgets import progress_bar
from icaps.cli import progress

POLL = 1.0  # seconds between two looks at a task


def show(arguments: Sequence[str], label: str, help_text: str, primary: bool = False) -> None:
    """A button, or while the command runs a bar with its time left and a button that stops it.

    The bar has the share of the texts and the time left if the command reports them, see
    `icaps.cli.progress.Progress.expect_texts`; else its last message.

    Args:
        arguments: The arguments of `icaps`; the page reads the result once the command has ended.
        label: The label of the button, and the name of the bar.
        help_text: What the command does, shown on hover.
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
        st.rerun()


def _watch(key: tuple[str, ...], label: str) -> None:
    """The progress of a task, until the task ends."""
    task = tasks.started().get(key)
    if task is None or not task.running:
        st.rerun()
    progress_bar.show(label, task.last_line or "starting …", progress.share_of(task.last_line))
    if st.button("Stop", key=f"stop {label}"):
        task.stop()
        st.rerun()
