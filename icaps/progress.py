"""Training's progress for a person: a bar with ETA on a terminal, plain lines elsewhere."""

from __future__ import annotations

from typing import TextIO

from tqdm import tqdm

from icaps.training import Epoch, Step


class Progress:
    """A training callback that writes to `stream`."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._bar: tqdm | None = None

    def say(self, line: str) -> None:
        """Writes a line, above the bar where there is one."""
        tqdm.write(line, file=self._stream)

    def on_step(self, step: Step) -> None:
        """Moves the bar."""
        if self._bar is None:
            quiet = not self._stream.isatty()
            total = step.steps * step.epochs
            self._bar = tqdm(total=total, unit="step", file=self._stream, disable=quiet)
        self._bar.set_postfix_str(f"loss {step.loss:.4f}, {step.texts_per_second:,.0f} texts/s")
        self._bar.update()

    def on_epoch(self, epoch: Epoch) -> None:
        """Writes the epoch's line."""
        self.say(
            f"epoch {epoch.epoch}: loss {epoch.loss:.4f}, validation accuracy "
            f"{epoch.validation_accuracy:.2%}, {epoch.seconds:.0f} s"
        )
