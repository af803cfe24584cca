"""Latency of the page Explain for a new text at the server, alone and during a training.

    python -m benchmarks.answering [--data synthetic] [--texts 40] [--json]

The whole script of the page runs for each text, as for a visitor; no text is used twice. The
training is a job as the sidebar starts it, with the default settings.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import tempfile
import time
from pathlib import Path

from streamlit.testing.v1 import AppTest

from icaps.runs import jobs
from icaps.runs.folder import TRAINING

ROOT = Path(__file__).resolve().parents[1]
SENTENCE = (
    "shares rose after the bank said profits would fall while the striker missed a penalty and "
    "scientists found water near the moon as ministers met to talk about the border"
)


def texts(count: int) -> list[str]:
    """Distinct texts of 40 words."""
    rng = random.Random(1)
    return [" ".join(rng.choices(SENTENCE.split(), k=40)) for _ in range(count)]


def open_page(*models: str | Path) -> AppTest:
    """The page, with the models of these folders, after its first run."""
    os.environ["ICAPS_MODELS"] = os.pathsep.join(map(str, models))
    page = AppTest.from_file(str(ROOT / "dashboard" / "Home.py"), default_timeout=120)
    return page.run()


def answer(page: AppTest, questions: list[str]) -> list[float]:
    """Seconds per text."""
    seconds = []
    for text in questions:
        page.text_area(key="text").set_value(text)
        started = time.perf_counter()
        page.run()
        seconds.append(time.perf_counter() - started)
        assert not page.exception
    return seconds


def summary(seconds: list[float]) -> dict[str, float]:
    """The median and the 95th percentile in milliseconds."""
    ordered = sorted(seconds)
    most = ordered[-(-len(ordered) * 95 // 100) - 1]
    return {"median_ms": statistics.median(ordered) * 1e3, "p95_ms": most * 1e3}


def main() -> None:
    """Runs the benchmark and prints its figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="synthetic", help="to train on")
    parser.add_argument("--texts", type=int, default=40)
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        page = open_page(ROOT / "checkpoints", folder)
        questions = texts(2 * options.texts + 2)
        answer(page, questions[:2])
        found = {"alone": summary(answer(page, questions[2 : options.texts + 2]))}
        arguments = ["train", "--data", options.data, "--set", "epochs=1000"]
        run = jobs.start(Path(folder), "beside", [*arguments, "--set", "patience=1000"])
        while run.folder.status().state != TRAINING:
            assert run.folder.status().live, run.folder.log_tail()
            time.sleep(0.2)
        found["beside a training"] = summary(answer(page, questions[options.texts + 2 :]))
        jobs.stop(run)
        while run.folder.status().live:
            time.sleep(0.2)
    if options.json:
        print(json.dumps(found))
        return
    print("| | median, ms | 95%, ms |\n|---|---|---|")
    for name, row in found.items():
        print(f"| {name} | {row['median_ms']:.0f} | {row['p95_ms']:.0f} |")


if __name__ == "__main__":
    main()
