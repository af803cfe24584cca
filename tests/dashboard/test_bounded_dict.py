"""A dictionary of bounded size that threads share."""

import sys
import threading
from collections.abc import Iterator

import pytest

from dashboard.bounded_dict import BoundedDict


@pytest.fixture
def quick_switches() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_the_oldest_entries_are_dropped() -> None:
    entries = BoundedDict[int, str](2)
    for key in (1, 2, 3):
        entries.put(key, str(key))
    assert entries.items() == [(2, "2"), (3, "3")]
    entries.put(2, "again")  # now the latest
    entries.put(4, "4")
    assert entries.items() == [(2, "again"), (4, "4")]
    assert (entries.get(4), entries.get(3)) == ("4", None)


def test_what_may_not_be_dropped_stays_and_counts() -> None:
    entries = BoundedDict[int, bool](2, droppable=lambda done: done)
    for key, done in ((1, False), (2, True), (3, False), (4, False)):
        entries.put(key, done)
    assert [key for key, _ in entries.items()] == [1, 3, 4]
    entries.put(5, True)  # the latest is never dropped by its own arrival
    assert [key for key, _ in entries.items()] == [1, 3, 4, 5]
    entries.put(6, True)
    assert [key for key, _ in entries.items()] == [1, 3, 4, 6]


def test_many_threads(quick_switches: None) -> None:
    entries = BoundedDict[int, int](4)
    failures: list[BaseException] = []

    def work(first: int) -> None:
        try:
            for number in range(2_000):
                key = (first * 7 + number) % 10
                entries.put(key, key)
                assert entries.get(key) in (key, None)
                assert len(entries.items()) <= 4
        except BaseException as error:  # noqa: BLE001 (of any kind, from another thread)
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert len(entries.items()) == 4
