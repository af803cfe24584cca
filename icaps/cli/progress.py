"""Progress on a terminal: a bar with the remaining time, or plain lines in a file or pipe."""

from __future__ import annotations

import re
import time
from typing import TextIO

from tqdm import tqdm

from icaps.cli.formatting import duration
from icaps.escaping import escape_lines
from icaps.train.callbacks import Callback, Epoch, Step

LINE_OF_TEXTS = 20_000  # texts per line, where there is no terminal and no known number of texts
_SHARE = re.compile(r"([\d,.]+) of ([\d,.]+) (?:texts|MB)")


def share_of(line: str) -> float | None:
    """The share of the texts, or of a download, that a line of `Progress` reports; None without."""
    match = _SHARE.match(line)
    if match is None:
        return None
    done, total = (float(number.replace(",", "")) for number in match.groups())
    return done / total if total else None


class Progress(Callback):
    """Writes the progress of a training, of downloads and of reading texts to `stream`."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._bar: tqdm | None = None
        self._download: tqdm | None = None
        self._file = ""  # that is being downloaded
        self._downloaded = "", -1  # the file and the percent of the last line
        self._texts: tqdm | None = None
        self._texts_read = 0
        self._texts_expected: int | None = None
        self._texts_started = 0.0

    def say(self, line: str) -> None:
        """Writes a line, above the bar if there is one."""
        tqdm.write(escape_lines(line), file=self._stream)

    def on_log(self, line: str) -> None:
        """Writes the line."""
        self.say(line)

    def on_restart(self, restarts: int) -> None:
        """Ends the bar of the training; the next step starts a new one."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def on_step(self, step: Step) -> None:
        """Advances the bar of the training."""
        if self._bar is not None and self._bar.total != step.steps * step.epochs:
            self.on_restart(step.restarts)  # another training follows, as in self-training
        if self._bar is None:
            self._bar = tqdm(
                total=step.steps * step.epochs,
                initial=step.steps * (step.epoch - 1) + step.step - 1,  # above 0 if resumed
                unit="step",
                file=self._stream,
                disable=not self._stream.isatty(),
            )
        self._bar.set_postfix_str(f"loss {step.loss:.4f}, {step.texts_per_second:,.0f} texts/s")
        self._bar.update()

    def on_epoch(self, epoch: Epoch) -> None:
        """Writes a line about the epoch."""
        f1 = epoch.validation_macro_f1
        self.say(
            f"epoch {epoch.epoch}: loss {epoch.loss:.4f}, validation accuracy "
            f"{epoch.validation_accuracy:.2%}, {'' if f1 is None else f'macro F1 {f1:.2%}, '}"
            f"{epoch.seconds:.0f} s"
        )

    def on_bytes(self, file: str, done: int, total: int | None) -> None:
        """Advances the bar of a file that is being downloaded; else writes a line per percent."""
        if not self._stream.isatty():
            self._say_bytes(file, done, total)
            return
        if self._download is None or file != self._file:
            self._file = file
            self._download = tqdm(
                desc=file,
                total=total,
                initial=done,
                unit="B",
                unit_scale=True,
                file=self._stream,
                disable=not self._stream.isatty(),
            )
        self._download.update(done - self._download.n)
        if done == total:
            self._download.close()
            self._download = None

    def _say_bytes(self, file: str, done: int, total: int | None) -> None:
        """Writes how much of a file was downloaded, in MB."""
        percent = 100 * done // total if total else done // 10**7
        if (file, percent) == self._downloaded:
            return
        self._downloaded = file, percent
        amount = f"{done / 1e6:,.1f}" + (f" of {total / 1e6:,.1f}" if total else "")
        self.say(f"{amount} MB of {file}")

    def expect_texts(self, total: int) -> None:
        """Starts a new count of texts, of which there are about `total`."""
        if self._texts is not None:
            self._texts.close()
            self._texts = None
        self._texts_read, self._texts_expected = 0, max(total, 1)
        self._texts_started = time.monotonic()

    def on_texts(self, count: int) -> None:
        """Advances the bar of texts; without a terminal writes a line per percent of them.

        Where their number is unknown, it is a line per `LINE_OF_TEXTS`.
        """
        before, self._texts_read = self._texts_read, self._texts_read + count
        if self._stream.isatty():
            if self._texts is None:
                self._texts = tqdm(total=self._texts_expected, unit=" texts", file=self._stream)
            self._texts.update(count)
        elif self._texts_expected is None:
            if before // LINE_OF_TEXTS < self._texts_read // LINE_OF_TEXTS:
                self.say(f"{self._texts_read:,} texts")
        else:
            self._say_share(before, max(self._texts_expected, self._texts_read))

    def _say_share(self, before: int, total: int) -> None:
        """Writes how many texts were processed, how fast, and how long the others will take."""
        done = self._texts_read
        if done == 0 or 100 * before // total == 100 * done // total:
            return
        taken = time.monotonic() - self._texts_started
        speed = f", {done / taken:,.0f} texts/s" if taken else ""
        left = f", {duration(taken * (total - done) / done)} left" if done < total else ""
        self.say(f"{done:,} of {total:,} texts{speed}{left}")
