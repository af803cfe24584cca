"""Worker processes: results, errors, deaths and ends."""

import os
import signal
import time
from functools import partial
from pathlib import Path

import pytest

from icaps.bulk.workers import run_tasks
from icaps.errors import DataError, WorkerError


def square(number: int) -> int:
    return number * number


def prepare_square() -> object:
    return square


def prepare_mistake() -> object:
    raise DataError("there is no model")


def odd_is_a_mistake(number: int) -> int:
    if number % 2:
        raise DataError(f"{number} is odd")
    return number


def die(how: str) -> None:
    if how == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    raise RuntimeError("a bug")


def slow(folder: Path, number: int) -> int:
    time.sleep(0.3)
    (folder / str(number)).touch()
    return number


def same(function: object) -> object:
    return function


def test_all_results_of_one_process_and_of_several() -> None:
    for jobs in (1, 3):
        results = run_tasks(prepare_square, iter(range(20)), jobs)
        assert sorted(results) == [n * n for n in range(20)]


def test_no_task_starts_no_process() -> None:
    assert list(run_tasks(prepare_mistake, [], 4)) == []


def test_tasks_are_read_when_they_are_needed() -> None:
    read = []
    tasks = (read.append(n) or n for n in range(1_000))
    results = run_tasks(prepare_square, tasks, 1)
    assert next(results) == 0
    assert len(read) < 5
    results.close()


def test_errors_of_users_are_raised_as_they_are() -> None:
    with pytest.raises(DataError, match="there is no model"):
        list(run_tasks(prepare_mistake, [1], 2))
    with pytest.raises(DataError, match="3 is odd"):
        list(run_tasks(partial(same, odd_is_a_mistake), [2, 4, 3, 6], 1))


@pytest.mark.parametrize(
    ("how", "message"),
    [("killed", r"signal 9 \(SIGKILL\) at killed.*--jobs"), ("bug", "exit code 1 at bug")],
)
def test_a_process_that_dies_is_reported(how: str, message: str, capfd: object) -> None:
    with pytest.raises(WorkerError, match=message):
        list(run_tasks(partial(same, die), [how], 1))


def test_a_caller_that_stops_waits_for_the_tasks_that_were_begun(tmp_path: Path) -> None:
    results = run_tasks(partial(same, partial(slow, tmp_path)), iter(range(100)), 2)
    first = next(results)
    results.close()
    done = {int(file.name) for file in tmp_path.iterdir()}
    assert first in done
    assert len(done) in (2, 3)
    time.sleep(0.5)
    assert done == {int(file.name) for file in tmp_path.iterdir()}
