"""The exported page beside the Python model: classes, spans, shares, and milliseconds per text.

    python -m benchmarks.live_page --model checkpoints/ag_news --data ag_news

It exports the page, opens it in Chromium without a network, and explains the texts in it. With
`--neutral WORD` the model is edited first. Needs Playwright and Chromium.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import sync_playwright

from icaps.classifier import ICapsClassifier
from icaps.data.resolve import resolve
from icaps.data.source import open_source
from icaps.interpret.edits import neutral_words
from icaps.portable.live_page import live_page
from icaps.results import Explanation

BATCH = 50  # texts per call into the page
EXPLAIN = """(texts) => texts.map((text) => {
  const start = performance.now();
  const result = icaps.explain(text);
  return {...result, milliseconds: performance.now() - start};
})"""


def explain_in_page(page: bytes, texts: list[str]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The explanations of the page, and what was seen: seconds to open, requests, errors."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        file = Path(folder) / "model.html"
        file.write_bytes(page)
        chromium = playwright.chromium.launch(
            executable_path=shutil.which("chromium") or playwright.chromium.executable_path,
            args=["--no-sandbox"],
        )
        window = chromium.new_context(offline=True).new_page()
        requests: list[str] = []
        errors: list[str] = []
        window.on("request", lambda request: requests.append(request.url))
        window.on("pageerror", lambda error: errors.append(str(error)))
        start = time.perf_counter()
        window.goto(file.as_uri())
        window.evaluate("icaps.ready")
        seconds = time.perf_counter() - start
        results: list[dict[str, Any]] = []
        for first in range(0, len(texts), BATCH):
            results += window.evaluate(EXPLAIN, texts[first : first + BATCH])
        chromium.close()
    return results, {"seconds_to_open": seconds, "requests": len(requests), "errors": errors}


def compare(results: list[dict[str, Any]], expected: list[Explanation]) -> dict[str, Any]:
    """How far the page agrees with the model."""
    same = spans = sentences = kgrams = 0
    share = score = 0.0
    for one, other in zip(results, expected, strict=True):
        words = [(word["start"], word["end"]) for word in one["words"]]
        spans += words == [(word.start, word.end) for word in other.words]
        parts = [(sentence["start"], sentence["end"]) for sentence in one["sentences"]]
        sentences += parts == [(sentence.start, sentence.end) for sentence in other.sentences]
        score = max(
            [
                score,
                *(
                    abs(one["scores"][c] - s)
                    for c, s in zip(other.classes, other.scores, strict=True)
                ),
            ]
        )
        if one["predicted"] != other.to_dict()["predicted"]:
            continue
        same += 1
        found = [abs(a["share"] - b.share) for a, b in zip(one["words"], other.words, strict=True)]
        share = max([share, *found])
        kgrams += sorted((k["start"], k["end"]) for k in one["kgrams"]) == sorted(
            (k.start, k.end) for k in other.kgrams
        )
    count, milliseconds = len(expected), [one["milliseconds"] for one in results]
    return {
        "texts": count,
        "same_class": same / count,
        "same_spans": spans / count,
        "same_sentences": sentences / count,
        "same_kgrams": kgrams / count,
        "largest_difference_of_shares": share,
        "largest_difference_of_scores": score,
        "milliseconds_median": float(np.median(milliseconds)),
        "milliseconds_p95": float(np.percentile(milliseconds, 95)),
    }


def main() -> None:
    """Prints the comparison as JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--model", required=True, help="folder of a model")
    parser.add_argument("--data", required=True, help="a file, a folder or a name")
    parser.add_argument("--part", default="test", help="part of the data")
    parser.add_argument("--limit", type=int, help="number of texts; all by default")
    parser.add_argument(
        "--neutral", action="append", default=[], help="a word or K-gram that is neutral"
    )
    options = parser.parse_args()
    classifier = ICapsClassifier.load(options.model, device="cpu")
    classifier = classifier.edited([*classifier.edits_, *map(neutral_words, options.neutral)])
    source = open_source(resolve(options.data), options.part)
    texts = [record.text for record in islice(source, options.limit)]
    page = live_page(classifier, options.model)
    results, seen = explain_in_page(page, texts)
    expected = list(classifier.explain(texts, ranking="account"))
    print(
        json.dumps({"megabytes": len(page) / 1e6, **seen, **compare(results, expected)}, indent=1)
    )


if __name__ == "__main__":
    main()
