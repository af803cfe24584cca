"""A folder of parts beside an output: what is done remains when a process is killed."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from icaps.bulk.part_formats import PartFormat, format_of
from icaps.data.atomic import read_json, write_json
from icaps.errors import CheckpointError, DataError, RunError

# Readers of folders of Parquet files leave out names with an underscore.
_JOB, _LOCK, _JOINED = "_job.json", "_lock", "_joined"
_PART = re.compile(r"part-(\d{6})\.\w+")
_SCRATCH = re.compile(rf"_({_PART.pattern}|{_JOINED})\.\d+")  # with a process id
_OURS = re.compile(f"{_PART.pattern}|{_SCRATCH.pattern}|{_JOB}|{_LOCK}|{_JOINED}")


@dataclass(frozen=True)
class PartsFolder:
    """The parts of an output that are done, in the folder OUT.parts until all are.

    A part is written under a temporary name and then renamed. So what has the name of a part is
    complete, however the process that wrote it ended.

    Attributes:
        out: The file or folder that is to be written.
    """

    out: Path

    @property
    def path(self) -> Path:
        """The folder."""
        return self.out.with_name(f"{self.out.name}.parts")

    @property
    def format(self) -> PartFormat:
        """The format of the parts, and of the output if it is a file."""
        return format_of(self.out)

    def part(self, number: int) -> Path:
        """The file of a part, from 0."""
        return self.path / f"part-{number:06}{self.format.suffix}"

    def done(self) -> frozenset[int]:
        """The numbers of the parts that are complete."""
        if not self.path.is_dir():
            return frozenset()
        matches = (_PART.fullmatch(file.name) for file in self.path.iterdir())
        return frozenset(int(match[1]) for match in matches if match)

    @contextmanager
    def claimed(self, job: Mapping[str, Any], resume: bool) -> Iterator[None]:
        """Locks the folder for this process while the block runs; creates it if necessary.

        Without a part it is deleted again if the block fails.

        Args:
            job: What the parts depend on, as plain data: names with texts or numbers.
            resume: Whether parts of an earlier process may be there.

        Raises:
            DataError: The output exists, or the folder cannot be written.
            RunError: Another process uses the folder, it has parts and `resume` is false, or they
                are of another job.
        """
        from filelock import FileLock, Timeout

        self._check_new()
        lock = FileLock(self.path / _LOCK, timeout=0)
        try:
            self.path.mkdir(exist_ok=True)
            lock.acquire()
        except Timeout as error:
            raise RunError(
                f"Another process writes {self.out}; wait for it, or choose another output."
            ) from error
        except OSError as error:
            raise DataError(
                f"{self.path} cannot be written ({error.strerror}). It holds what is done until "
                f"{self.out.name} is complete; make its folder writable, or choose another output."
            ) from error
        try:
            self._check_new()  # the other process may just have completed it
            self._check_job(job, resume)
            with self._writing():
                write_json(dict(job), self.path / _JOB)
                for file in self.path.iterdir():
                    if _SCRATCH.fullmatch(file.name):  # of a process that was killed
                        file.unlink()
            yield
        finally:
            if self.path.is_dir() and not self.done():
                self._delete()
            lock.release()

    def _check_new(self) -> None:
        """Raises DataError if the output exists."""
        if self.out.exists():
            raise DataError(f"{self.out} exists; choose another output, or delete it first.")

    def _check_job(self, job: Mapping[str, Any], resume: bool) -> None:
        done = len(self.done())
        if not done:
            return
        if not resume:
            raise RunError(
                f"{self.path} has {done:,} parts of a run that was stopped. Continue it with "
                "--resume, or delete that folder."
            )
        try:
            before = read_json(self.path / _JOB)
        except CheckpointError as error:
            raise RunError(f"{error} Or delete {self.path}, and start again.") from error
        if changed := [name for name in {**before, **job} if before.get(name) != job.get(name)]:
            raise RunError(
                f"{self.path} has {done:,} parts of a run with another {', '.join(changed)}. Run "
                "the same again, or delete that folder to start anew."
            )

    def write(self, number: int, table: pa.Table) -> None:
        """Writes a part.

        Raises:
            DataError: It cannot be written, as when the disk is full.
        """
        self._write(self.part(number), lambda file: self.format.write(table, file, number == 0))

    def publish(self, parts: int) -> None:
        """Puts the output in its place when all parts are done, and deletes the folder.

        Raises:
            DataError: It cannot be written, or exists by now, or a part is damaged. The parts
                remain.
        """
        if self.out.suffix:
            files = [self.part(number) for number in range(parts)]
            joined = self.path / _JOINED
            try:
                self._write(joined, lambda file: self.format.join(files, file))
            except pa.ArrowException as error:
                raise DataError(
                    f"A part in {self.path} is damaged ({error}). Delete it, and continue with "
                    "--resume."
                ) from error
            self._check_new()
            with self._writing():
                joined.replace(self.out)
            self._delete()
            return
        self._check_new()
        with self._writing():
            self.path.rename(self.out)
        for name in (_JOB, _LOCK):
            (self.out / name).unlink(missing_ok=True)

    def _delete(self) -> None:
        """Deletes the folder, unless somebody put something else there."""
        for file in self.path.iterdir():
            if _OURS.fullmatch(file.name):
                file.unlink()
        with suppress(OSError):
            self.path.rmdir()

    def _write(self, path: Path, write: Callable[[BinaryIO], None]) -> None:
        """Writes a file, which has its name when it is complete and on the disk."""
        scratch = path.with_name(f"_{path.name}.{os.getpid()}")
        with self._writing():
            try:
                with scratch.open("wb") as file:
                    write(file)
                    file.flush()
                    os.fsync(file.fileno())
                scratch.replace(path)
            finally:
                with suppress(OSError):
                    scratch.unlink(missing_ok=True)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Raises DataError for an error of the file system."""
        try:
            yield
        except OSError as error:
            raise DataError(
                f"{self.out} cannot be written ({error.strerror or error}). Make room or make the "
                f"folder writable, then continue with --resume; what is done is in {self.path}."
            ) from error
