"""Tasks of workers in this process, which has torch already."""

from collections.abc import Callable, Generator, Iterable
from typing import Any


def run_here(
    prepare: Callable[[], Callable[[Any], Any]], tasks: Iterable[Any], jobs: int
) -> Generator[Any, None, None]:
    """In place of `icaps.bulk.workers.run_tasks`."""
    carry_out = prepare()
    for task in tasks:
        yield carry_out(task)
