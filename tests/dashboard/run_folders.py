"""Folders of trainings written by hand, and a visitor of the pages that show them."""

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock
from streamlit.testing.v1 import AppTest

from icaps.runs.folder import (
    DONE,
    LOCK,
    LOG,
    PROGRESS,
    SNAPSHOTS,
    STATUS,
    STOP,
    Request,
    Run,
    RunFolder,
    Status,
)
from tests.dashboard import visitor
from tests.dashboard.visitor import Reader, page_html

# The bars of trainings have these beside what a page has otherwise.
TAGS = visitor.TAGS | {"b", "i"}
ATTRIBUTES = visitor.ATTRIBUTES | {"aria-valuemin", "aria-valuemax", "aria-valuenow"}
WORK = ("train", "--data", "synthetic")
CLASSES = ["Cooking", "Gardens", "Sailing"]


def run(at: AppTest) -> AppTest:
    """As `visitor.run`: no exception, and no HTML that is not the page's own."""
    at.run()
    assert not at.exception, at.exception[0].stack_trace
    reader = Reader(page_html(at))
    assert reader.tags <= TAGS
    assert reader.attributes <= ATTRIBUTES
    return at


def open_page(name: str, **address: str) -> AppTest:
    """A new visitor on a page, with what the address asks."""
    at = AppTest.from_file(str(visitor.HOME), default_timeout=60)
    at.query_params.update(address)
    at.switch_page(f"../pages/{name}.py")
    return run(at)


def write_run(
    place: Path,
    name: str,
    status: Status | None = None,
    *,
    arguments: Sequence[str] | None = WORK,
    progress: Sequence[dict[str, Any]] = (),
    snapshots: Sequence[dict[str, Any]] = (),
    log: str = "",
    stop_requested: bool = False,
    resumable: bool = False,
) -> RunFolder:
    """The folder of a training whose process is gone, or never was."""
    folder = RunFolder(place / name)
    folder.path.mkdir(parents=True)
    if arguments is not None:
        folder.write_request(Request(tuple(arguments), str(place)))
    if status is not None:
        folder.write_status(status)
    for file, records in ((PROGRESS, progress), (SNAPSHOTS, snapshots)):
        for record in records:
            folder.append(file, record)
    if log:
        (folder.path / LOG).write_text(log, encoding="utf-8")
    if stop_requested:
        (folder.path / STOP).touch()
    if resumable:
        (folder.path / "last").mkdir()
        (folder.path / "last" / "state.safetensors").write_bytes(b"state")
    return folder


def as_run(folder: RunFolder) -> Run:
    return Run(folder.path.name, folder.path, folder.status(), folder.request())


@contextmanager
def at_work(folder: RunFolder) -> Iterator[None]:
    """A process, this one, that trains in the folder."""
    with FileLock(folder.path / LOCK):
        yield


def done(epochs: int = 2, **facts: Any) -> Status:
    """The status of a training that has ended well."""
    now = time.time()
    usual = {"started": now - 90, "queued": now - 100, "epoch": epochs, "epochs": epochs}
    return Status(DONE, 1, **{**usual, "step": 10, "steps": 10, **facts})


def steps(epoch: int, count: int = 10, loss: float = 0.5) -> list[dict[str, Any]]:
    """Lines of the steps of an epoch."""
    return [
        {
            "epoch": epoch,
            "step": step,
            "steps": count,
            "loss": loss / step,
            "learning_rate": 0.001,
            "texts_per_second": 100.0,
            "memory": 5 * 10**8,
        }
        for step in range(1, count + 1)
    ]


def epoch_line(epoch: int, accuracy: float) -> dict[str, Any]:
    scores = {"validation_accuracy": accuracy, "validation_macro_f1": accuracy / 2}
    return {"epoch": epoch, "loss": 0.3, **scores, "seconds": 2.0}


def damage(path: Path, content: str | bytes) -> None:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def status_of(folder: RunFolder, **facts: Any) -> None:
    """A status that no training of ours writes."""
    damage(folder.path / STATUS, json.dumps(facts))
