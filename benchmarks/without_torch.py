"""A model as ONNX beside torch: agreement, time and memory to start, milliseconds per text.

    python -m benchmarks.without_torch --model checkpoints/ag_news --data ag_news [--json]

Three sides read the model: the estimator (`ICapsClassifier`), the model without scikit-learn
(`TrainedModel`), and its export (`OnnxClassifier`). They are compared on all texts, and timed on
the first ones. Each round starts a process per side, in turns, with one thread, and medians are
printed. Times are those of the processor, which other processes disturb less, and memory is
resident memory. The account of torch is `TrainedModel.account`, as its `explain` looks for K-grams
as well, which the export does not.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median, quantiles
from typing import Any

# Only the standard library is imported above, since the time of the other imports is measured.

SIDES = ("estimator", "model", "onnx")
ALONE = 300  # texts that are read one by one
TEXT = "Oil prices fall as output rises."


def measure(side: str, folder: str, texts: list[str]) -> dict[str, float]:
    """What one process measures: seconds and megabytes to start, milliseconds per text."""
    megabytes, start = resident(), time.process_time()
    load = importer(side)
    imported, imported_megabytes = time.process_time(), resident()
    model = load(folder)
    loaded = time.process_time()
    list(model.explain([TEXT]))
    figures = {
        "import_seconds": imported - start,
        "load_seconds": loaded - imported,
        "first_explanation_seconds": time.process_time() - loaded,
        "import_megabytes": imported_megabytes - megabytes,
        "whole_megabytes": resident() - megabytes,
    }

    def account(some: list[str]) -> None:
        explained = model.explain(some) if side == "onnx" else map_accounts(model, some)
        for _ in explained:
            pass

    works: dict[str, Callable[[list[str]], Any]] = {"scores": model.class_norms, "account": account}
    for name, work in works.items():
        work(texts)  # a lookup table is built after many words
        began = time.process_time()
        work(texts)
        figures[f"{name}_ms"] = 1e3 * (time.process_time() - began) / len(texts)
        alone = []
        for text in texts[:ALONE]:
            began = time.process_time()
            work([text])
            alone.append(1e3 * (time.process_time() - began))
        figures[f"{name}_alone_ms_median"] = median(alone)
        figures[f"{name}_alone_ms_p95"] = quantiles(alone, n=20)[-1]
    return figures


def importer(side: str) -> Callable[[str], Any]:
    """Imports what a side needs; returns what loads its model."""
    if side == "onnx":
        import onnxruntime  # noqa: F401 (the session imports it)

        from icaps.portable.onnx_runner import OnnxClassifier

        return lambda folder: OnnxClassifier(folder, threads=1)
    if side == "model":
        from icaps.trained_model import TrainedModel

        return lambda folder: TrainedModel.load(folder, "cpu")
    from icaps.classifier import ICapsClassifier

    return lambda folder: ICapsClassifier.load(folder, "cpu")


def map_accounts(model: Any, texts: list[str]) -> Any:
    """The shares of each text, by torch."""
    return (account.by_class() for account in model.account(texts))


def resident() -> float:
    """Resident memory of this process in megabytes (Linux)."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def agreement(folder: str, exported: str, texts: list[str]) -> dict[str, Any]:
    """How far the export agrees with the model."""
    from icaps.portable.onnx_export import largest_differences
    from icaps.portable.onnx_runner import OnnxClassifier
    from icaps.trained_model import TrainedModel

    model, other = TrainedModel.load(folder, "cpu"), OnnxClassifier(exported)
    scores, shares = largest_differences(model, other, texts)
    pairs = zip(model.predict_labels(texts), other.predict_labels(texts), strict=True)
    return {
        "texts": len(texts),
        "same_prediction": sum(one == two for one, two in pairs) / len(texts),
        "largest_difference_of_scores": scores,
        "largest_difference_of_shares": shares,
    }


def main() -> None:
    """Prints the figures, or measures one side and prints JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--model", required=True, help="folder of a model")
    parser.add_argument("--data", help="a file, a folder or a name")
    parser.add_argument("--part", default="test", help="part of the data")
    parser.add_argument("--limit", type=int, default=2_000, help="texts that are timed")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--side", choices=SIDES, help=argparse.SUPPRESS)  # of a process of a round
    parser.add_argument("--texts", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.side is not None:
        texts = json.loads(Path(options.texts).read_text())
        print(json.dumps(measure(options.side, options.model, texts)))
        return
    with tempfile.TemporaryDirectory() as folder:
        figures = compare(options, Path(folder))
    if options.json:
        print(json.dumps(figures))
        return
    for name, value in figures.items():
        print(f"{name}: {value}")


def compare(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """All figures; the export and the texts are written to a folder."""
    from benchmarks.machine import machine
    from icaps.data.resolve import resolve
    from icaps.data.source import open_source
    from icaps.portable.onnx_export import export_onnx
    from icaps.trained_model import TrainedModel

    source = open_source(resolve(options.data), options.part)
    texts = [record.text for record in source]
    (folder / "texts.json").write_text(json.dumps(texts[: options.limit]))
    exported = str(folder / "onnx")
    export_onnx(TrainedModel.load(options.model, "cpu"), exported)
    size = sum(path.stat().st_size for path in Path(exported).iterdir())
    one_thread = os.environ | {"OMP_NUM_THREADS": "1"}
    rounds: dict[str, list[dict[str, float]]] = {side: [] for side in SIDES}
    for _ in range(options.rounds):
        for side, measured in rounds.items():
            model = exported if side == "onnx" else options.model
            command = [sys.executable, "-m", "benchmarks.without_torch", "--side", side]
            command += ["--model", model, "--texts", str(folder / "texts.json")]
            done = subprocess.run(
                command, check=True, capture_output=True, text=True, env=one_thread
            )
            measured.append(json.loads(done.stdout))
    medians = {
        side: {
            name: float(f"{median(figures[name] for figures in measured):.3g}")
            for name in measured[0]
        }
        for side, measured in rounds.items()
    }
    return {
        "machine": machine(),
        "folder_megabytes": size / 1e6,
        **agreement(options.model, exported, texts),
        **medians,
    }


if __name__ == "__main__":
    main()
