"""Progress for a person: a bar with ETA on a terminal, plain lines elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from tqdm import tqdm

if TYPE_CHECKING:  # a download needs no torch
    from icaps.train.loop import Epoch, Step

LINE_OF_TEXTS = 20_000  # texts that a line tells of, where there is no terminal


class Progress:
    """A callback of training, and of downloads, that writes to `stream`."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._bar: tqdm | None = None
        self._download: tqdm | None = None
        self._file = ""  # that is downloaded
        self._texts: tqdm | None = None
        self._read = 0  # texts

    def say(self, line: str) -> None:
        """Writes a line, above the bar where there is one."""
        tqdm.write(line, file=self._stream)

    def on_step(self, step: Step) -> None:
        """Moves the bar."""
        if self._bar is None:
            quiet = not self._stream.isatty()
            total = step.steps * step.epochs
            done = step.steps * (step.epoch - 1) + step.step - 1  # more than 0 when resumed
            options = {"unit": "step", "file": self._stream, "disable": quiet}
            self._bar = tqdm(total=total, initial=done, **options)
        self._bar.set_postfix_str(f"loss {step.loss:.4f}, {step.texts_per_second:,.0f} texts/s")
        self._bar.update()

    def on_epoch(self, epoch: Epoch) -> None:
        """Writes the epoch's line."""
        self.say(
            f"epoch {epoch.epoch}: loss {epoch.loss:.4f}, validation accuracy "
            f"{epoch.validation_accuracy:.2%}, {epoch.seconds:.0f} s"
        )

    def on_bytes(self, file: str, done: int, total: int | None) -> None:
        """Moves the bar of a file that is downloaded."""
        if self._download is None or file != self._file:
            quiet = not self._stream.isatty()
            options = {"unit": "B", "unit_scale": True, "file": self._stream, "disable": quiet}
            self._file, self._download = file, tqdm(desc=file, total=total, initial=done, **options)
        self._download.update(done - self._download.n)
        if done == total:
            self._download.close()
            self._download = None

    def on_texts(self, count: int) -> None:
        """Counts texts that were read, of a stream whose length is not known."""
        if not self._stream.isatty():
            before, self._read = self._read, self._read + count
            if before // LINE_OF_TEXTS < self._read // LINE_OF_TEXTS:
                self.say(f"{self._read:,} texts")
            return
        if self._texts is None:
            self._texts = tqdm(unit=" texts", file=self._stream)
        self._texts.update(count)
