"""The learning curve of a labelling task: scores of trained models on its held-out part."""

from __future__ import annotations

import dataclasses
import json
import os
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

from icaps.data.paths import check_regular
from icaps.data.plain_json import parse_json
from icaps.errors import DataError
from icaps.results import Interval
from icaps.stats import wilson


@dataclass(frozen=True)
class CurvePoint:
    """The score of a trained model on the held-out part.

    Attributes:
        run: Name of the model.
        labels: Number of labelled texts that it was trained on.
        correct, tested: Held-out texts that it predicts right, and all that had a label.
        time: When it was scored, as ISO 8601 in UTC.
    """

    run: str
    labels: int
    correct: int
    tested: int
    time: str

    @property
    def accuracy(self) -> Interval:
        """The share that is right, with its interval."""
        return wilson(self.correct, self.tested)


def _is_point(point: CurvePoint) -> bool:
    numbers = (point.labels, point.correct, point.tested)
    return (
        all(type(number) is int for number in numbers)
        and isinstance(point.run, str)
        and isinstance(point.time, str)
        and 0 <= point.correct <= point.tested
        and point.labels >= 0
    )


class Curve:
    """The scores in a file, a JSON object per line, which need not exist yet.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def add(self, point: CurvePoint) -> None:
        """Adds a score; it is on the disk when this returns.

        Raises:
            DataError: The file cannot be written.
        """
        try:
            check_regular(self.path)
            with FileLock(self.path.with_name(f".{self.path.name}.lock")):
                before = self.path.read_bytes() if self.path.exists() else b""
                with self.path.open("ab") as file:
                    file.truncate(before.rfind(b"\n") + 1)  # without a line that was cut off
                    file.write(json.dumps(dataclasses.asdict(point)).encode() + b"\n")
                    file.flush()
                    os.fsync(file.fileno())
        except OSError as error:
            raise DataError(f"{self.path} cannot be written ({error}).") from error

    def points(self) -> list[CurvePoint]:
        """The scores, by number of labels, then by time.

        Raises:
            DataError: The file cannot be read, or is damaged.
        """
        try:
            check_regular(self.path)
            content = self.path.read_bytes() if self.path.exists() else b""
            lines = content.split(b"\n")[:-1]  # without one that was cut off
            points = [CurvePoint(**parse_json(line)) for line in lines]
            if not all(_is_point(point) for point in points):
                raise ValueError("a score has no numbers of texts")
        except (OSError, ValueError, TypeError) as error:
            raise DataError(f"{self.path} cannot be read ({error}).") from error
        return sorted(points, key=lambda point: (point.labels, point.time))
