"""Helper of worker processes."""

from __future__ import annotations

import os
from multiprocessing import parent_process
from threading import Thread


def exit_with_parent() -> None:
    """Lets this process end when its parent is killed, as it would wait for work forever."""
    Thread(target=_wait_for_parent, daemon=True).start()


def _wait_for_parent() -> None:
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
