"""Labels survive kill -9 and several writers; the files of a task are whole at any time."""

import multiprocessing
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from icaps.errors import DataError
from icaps.label.task import LabelTask

TEXTS = [f"Text number {n} of the heap" for n in range(400)]


def create(folder: Path) -> LabelTask:
    return LabelTask.create(folder / "task", TEXTS, ["x", "y"], held_out=10)


def test_a_process_that_is_killed_loses_no_label_that_it_has_given(tmp_path: Path) -> None:
    task = create(tmp_path)
    code = (
        "import sys\n"
        "from icaps.label.task import LabelTask\n"
        f"task = LabelTask.open({str(task.folder)!r})\n"
        "while item := task.next('random'):\n"
        "    task.give(item.id, 'x')\n"
        "    print(item.id, flush=True)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    told = [int(process.stdout.readline()) for _ in range(20)]
    process.send_signal(signal.SIGKILL)
    rest = process.stdout.read().split("\n")
    process.wait()
    told += [int(line) for line in rest[:-1]]
    given = [one.id for one in LabelTask.open(task.folder).labels()]
    assert set(told) <= set(given)
    assert len(given) <= len(told) + 1  # the one that was killed before it could say so
    assert {one.id for one in task.labels()} == set(given)  # another window follows
    left = task.next("random")
    assert left is not None
    assert left.id not in given
    task.give(left.id, "y")
    assert task.progress().labelled == len(given) + 1


def label_some(folder: Path, start: int) -> None:
    task = LabelTask.open(folder)
    for n in range(start, start + 40):
        task.give(n, "x", by=f"window {start}")
        task.add_class(f"class {n}")


def test_two_writers_at_once_lose_nothing(tmp_path: Path) -> None:
    task = create(tmp_path)
    context = multiprocessing.get_context("spawn")
    starts = (0, 100)
    writers = [context.Process(target=label_some, args=(task.folder, start)) for start in starts]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        task.progress()  # a reader never sees half a file
        time.sleep(0.01)
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    assert [one.id for one in task.labels()] == [*range(40), *range(100, 140)]
    assert {one.by for one in task.labels()} == {"window 0", "window 100"}
    assert len(task.classes) == 2 + 80


def test_labels_of_one_window_are_seen_and_undone_in_another(tmp_path: Path) -> None:
    one = create(tmp_path)
    other = LabelTask.open(one.folder)
    batch = one.give(3, "x")
    other.give_many([(3, "y"), (5, "y")])
    assert [(label.id, label.label) for label in one.labels()] == [(3, "y"), (5, "y")]
    assert other.undo(batch) == (3,)
    assert [(label.id, label.label) for label in one.labels()] == [(3, "y"), (5, "y")]
    assert one.undo() == (3, 5)
    assert list(other.labels()) == []


def test_a_creation_that_fails_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="None of 2 texts"):
        LabelTask.create(tmp_path / "task", ["", " \n"], ["x"])
    assert list(tmp_path.iterdir()) == []
    create(tmp_path)
    with pytest.raises(DataError, match="exists already"):
        create(tmp_path)
    with pytest.raises(DataError, match="no labelling task"):
        LabelTask.open(tmp_path)


def test_a_torn_last_line_of_labels_or_scores_is_no_harm(tmp_path: Path) -> None:
    task = create(tmp_path)
    task.give(1, "x")
    task.record_score("one", 10, 8, 10)
    for name in ("labels.jsonl", "scores.jsonl"):
        with (task.folder / name).open("ab") as file:
            file.write(b'{"text": "Tex')
    again = LabelTask.open(task.folder)
    assert [one.id for one in again.labels()] == [1]
    again.give(2, "y")
    again.record_score("two", 5, 9, 10)
    assert [one.id for one in task.labels()] == [1, 2]
    assert [(p.run, p.accuracy.value) for p in task.curve()] == [("two", 0.9), ("one", 0.8)]
    (task.folder / "scores.jsonl").write_text("x\n")
    with pytest.raises(DataError, match="cannot be read"):
        task.curve()
    (task.folder / "task.json").write_text("{}")
    with pytest.raises(DataError, match="cannot be read"):
        LabelTask.open(task.folder)
