"""Load and soak tests of the app: many visitors at once, and memory over many requests.

    python -m benchmarks.visitors [--sessions 30] [--minutes 5] [--json]
    python -m benchmarks.visitors --requests 20000 [--minutes 5] [--json]

A server of its own, as `streamlit run` starts it, on loopback, with its own folders and one model.
The first command sends visitors who come all at once, enter distinct texts, stay for some ten
seconds per text, and switch pages now and then, while a network is trained by a job as the sidebar
starts it. It prints the time from a new text to the end of the script's run.

The second is a soak test: a few visitors without pauses, who are replaced after some requests,
until the number of requests or the time is reached. It prints the memory of the server over the
requests. Its server allows more requests per minute than the settings of the app.

Visitors are `app.Session`s and not browsers: thirty browsers on the same processor would measure
the speed of browsers. Each page must show what `ICapsClassifier.explain` returns here for the
visitor's own text: the class, the shaded words and the table of evidence, also after a switch to
other pages and back. A page that does not, an error on a page or in the log of the server, and a
connection that ends set the exit code to 1. Pages are checked outside the measured time, but on the
same processor.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from websockets.exceptions import WebSocketException

from benchmarks.answering import ROOT, summary
from benchmarks.app import Session, entered, served
from benchmarks.machine import machine
from benchmarks.timing import show
from dashboard.widgets.shaded_text import account_card
from icaps.classifier import ICapsClassifier
from icaps.config import ACCOUNT
from icaps.html import escape
from icaps.runs import jobs
from icaps.runs.folder import TRAINING

PAUSE = 10.0  # mean seconds that a visitor stays with a text
SWITCHES = 0.2  # share of actions that are a switch to another page and back
WORDS = 30  # per text
AT_ONCE = 4  # visitors of the soak test
STAY = 25  # actions per visitor of the soak test
EXPLAIN = "Explain"
GENEROUS = "requests_per_minute = 100_000_000\nrequests_per_minute_together = 100_000_000\n"
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_TROUBLE = re.compile(r'"level": "error"|Traceback')


@dataclass
class Seen:
    """The results of all visitors."""

    opened: list[float] = field(default_factory=list)  # seconds of each session's first page
    answered: list[float] = field(default_factory=list)  # seconds of each new text
    switches: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)  # texts whose page showed another explanation
    memory: list[tuple[int, float]] = field(default_factory=list)  # requests until then, MB

    @property
    def requests(self) -> int:
        """The number of runs of whole pages."""
        return len(self.opened) + len(self.answered) + self.switches


class Judge:
    """Generates texts, and checks the pages that explain them."""

    def __init__(self, model: Path) -> None:
        self.classifier = ICapsClassifier.load(model, device="cpu")
        lines = (model / "vocabulary.txt").read_text(encoding="utf-8").split("\n")
        words = [line.split("\t")[0] for line in lines]
        self._words = [word for word in words if word.isalpha()]

    def text(self, rng: random.Random) -> str:
        """Random words of the vocabulary, in a text that was not used before."""
        return " ".join(rng.choices(self._words, k=WORDS))

    def agrees(self, text: str, html: list[str]) -> bool:
        """Whether a page shows the explanation of this text."""
        (found,) = self.classifier.explain([text], ranking=ACCOUNT)
        verdict = f">{escape(found.predicted)}</p>"
        evidence = f'<div class="evidence">{found.evidence_html()}</div>'
        card = account_card(found)
        return any('class="verdict"' in one and verdict in one for one in html) and all(
            any(alike(one, wanted) for one in html) for wanted in (card, evidence)
        )


def alike(one: str, other: str) -> bool:
    """Whether two fragments of HTML differ only in the last digits of numbers."""
    if _NUMBER.sub("#", one) != _NUMBER.sub("#", other):
        return False
    pairs = zip(_NUMBER.findall(one), _NUMBER.findall(other), strict=True)
    return all(abs(float(a) - float(b)) < 1.1 * _last_digit(a) for a, b in pairs)


def _last_digit(number: str) -> float:
    """The place value of the digit that may differ: 0.1 of "57.3", 0.01 of others."""
    return 0.1 if len(number.partition(".")[2]) == 1 else 0.01


@dataclass
class House:
    """The server, and what its visitors share."""

    port: int
    process: subprocess.Popen[bytes]
    judge: Judge
    seen: Seen = field(default_factory=Seen)

    async def visit(self, rng: random.Random, until: float, *, pause: float, stay: int) -> None:
        """Visits until this time, by `time.monotonic`, or for a number of actions."""
        started = time.perf_counter()
        try:
            async with entered(self.port, "model=model", self.seen.errors) as session:
                self.seen.opened.append(time.perf_counter() - started)
                text = ""
                for _ in range(stay):
                    await session.rest(rng.uniform(0.5, 1.5) * pause)
                    if time.monotonic() > until:
                        return
                    text = await self._do(session, rng, text)
        except (WebSocketException, OSError, asyncio.TimeoutError) as error:
            self.seen.errors[f"disconnected: {type(error).__name__}"] += 1
            await asyncio.sleep(1)  # as a browser waits before it tries again

    async def _do(self, session: Session, rng: random.Random, text: str) -> str:
        """Enters a new text, or visits another page; returns the current text."""
        if text and rng.random() < SWITCHES:
            others = sorted(session.pages.keys() - {EXPLAIN})
            for page in (rng.choice(others), EXPLAIN):
                await session.go_to(page)
                self.seen.switches += 1
        else:
            text = self.judge.text(rng)
            started = time.perf_counter()
            await session.write("Your text", text)
            self.seen.answered.append(time.perf_counter() - started)
        if not self.judge.agrees(text, session.html):
            self.seen.wrong.append(text)
        return text

    async def watch(self) -> None:
        """Records the memory of the server until it is cancelled."""
        while True:
            status = Path(f"/proc/{self.process.pid}/status").read_text()
            resident = int(status.split("VmRSS:")[1].split()[0]) / 1024
            self.seen.memory.append((self.seen.requests, resident))
            await asyncio.sleep(0.5)


async def send(
    house: House, visitors: int, requests: float, seconds: float, *, pause: float, stay: int
) -> None:
    """Sends this many concurrent visitors, until the number of requests or the time is reached.

    Each visitor does `stay` actions, and is then replaced by a new one.
    """
    end = time.monotonic() + seconds

    async def come_and_go(number: int) -> None:
        rng = random.Random(number)
        while house.seen.requests < requests and time.monotonic() < end:
            await house.visit(rng, end, pause=pause, stay=stay)

    watch = asyncio.create_task(house.watch())
    await asyncio.gather(*map(come_and_go, range(visitors)))
    watch.cancel()


@contextmanager
def training(place: Path) -> Iterator[None]:
    """Context manager during which a network is trained on generated texts."""
    arguments = ["train", "--data", "synthetic", "--set", "epochs=1000", "--set", "patience=1000"]
    run = jobs.start(place, "beside", arguments)
    try:
        while run.folder.status().state != TRAINING:
            assert run.folder.status().live, run.folder.log_tail()
            time.sleep(0.2)
        yield
        assert run.folder.status().live, run.folder.log_tail()
    finally:
        jobs.stop(run)
        while run.folder.status().live:
            time.sleep(0.2)


def told(seen: Seen, log: str) -> dict[str, Any]:
    """The figures of both tests."""
    times = {"new_text": seen.answered, "first_page": seen.opened}
    return {
        "sessions": len(seen.opened),
        "requests": seen.requests,
        "new_texts": len(seen.answered),
        **{
            f"{what}_{name}": round(value)
            for what, seconds in times.items()
            for name, value in (summary(seconds) if seconds else {}).items()
        },
        "errors": dict(seen.errors),
        "errors_in_the_log": len(_TROUBLE.findall(log)),
        "wrong_answers": len(seen.wrong),
    }


def memory_of_crowd(samples: list[tuple[int, float]]) -> dict[str, int]:
    """Memory in MB at the start, after a fifth of the time, at the end, and at most."""
    resident = [megabytes for _, megabytes in samples]
    at = {"start": resident[0], "warm": resident[len(resident) // 5], "end": resident[-1]}
    return {f"memory_{name}_mb": round(v) for name, v in {**at, "most": max(resident)}.items()}


def memory_of_soak(samples: list[tuple[int, float]]) -> dict[str, Any]:
    """Memory in MB after each tenth of the requests, and its growth from first to last quarter."""
    last = samples[-1][0]
    tenths = [next(s for s in samples if s[0] >= last * part / 10) for part in range(1, 11)]
    first, final = (
        [megabytes for requests, megabytes in samples if low <= requests <= high]
        for low, high in ((0, last / 4), (last * 3 / 4, last))
    )
    growth = sum(final) / len(final) - sum(first) / len(first)
    return {
        "memory_mb_by_requests": {requests: round(megabytes) for requests, megabytes in tenths},
        "growth_from_first_to_last_quarter_mb": round(growth, 1),
    }


def main() -> int:
    """Sends the visitors, prints the figures, and returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sessions", type=int, default=30, help="at once")
    parser.add_argument("--minutes", type=float, default=5.0, help="at most, without the starts")
    parser.add_argument("--requests", type=int, help="run a soak test with this many")
    parser.add_argument("--model", type=Path, default=ROOT / "checkpoints" / "ag_news")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    seconds = 60 * options.minutes
    with (
        tempfile.TemporaryDirectory() as name,
        served(Path(name), options.model, GENEROUS if options.requests else "") as server,
    ):
        house = House(*server, Judge(options.model))
        seen = house.seen
        if options.requests:
            hurry = send(house, AT_ONCE, options.requests, seconds, pause=0.0, stay=STAY)
            asyncio.run(hurry)
        else:
            everybody = options.sessions, math.inf, seconds
            with training(Path(name) / "runs"):
                asyncio.run(send(house, *everybody, pause=PAUSE, stay=sys.maxsize))
        log = Path(name, "log").read_text()
    of_memory = memory_of_soak if options.requests else memory_of_crowd
    figures = told(seen, log) | of_memory(seen.memory)
    show(figures | {"machine": machine()}, options.json)
    for text in seen.wrong[:3]:
        print("wrong:", text, file=sys.stderr)
    if figures["errors_in_the_log"]:
        print(log[-4_000:], file=sys.stderr)
    return int(bool(seen.errors or seen.wrong or figures["errors_in_the_log"]))


if __name__ == "__main__":
    raise SystemExit(main())
