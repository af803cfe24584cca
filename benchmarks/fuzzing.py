"""Fuzzing with thousands of hostile inputs: errors must be typed, and nothing else be touched.

    python -m benchmarks.fuzzing [--texts N] [--files N] [--checkpoints N] [--links N]
        [--requests N] [--calls N] [--labels N] [--tasks N] [--seed N]

Texts are explained and rendered; data files are previewed, read and checked; checkpoints are loaded
and used; links are opened as pages; requests are sent to the service, and calls to the tools for
assistants; files of labels, corrections and marked words, and tasks of labelling, are read and
written. Prints per kind how many inputs succeeded, how many raised an
error of `icaps.errors`, and each other error. The exit code is 1 if there was another error, if
something was written outside the folders of the app, if a process or a connection was started, if
something was unpickled while a file or a checkpoint was read, or if an input took longer than
TOO_LONG.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from benchmarks import hostile_input as hostile
from icaps.classifier import ICapsClassifier
from icaps.config import ModelConfig, TrainConfig
from icaps.data.check import check
from icaps.data.correction_files import read_corrections
from icaps.data.label_file import GivenLabel, LabelFile, load_corrections
from icaps.data.marked_words import MarkedWordsFile
from icaps.data.preview import preview
from icaps.data.source import open_source
from icaps.data.text_hash import text_hash
from icaps.errors import ICapsError
from icaps.html import printable
from icaps.interpret.edits import neutral_capsule, neutral_words
from icaps.interpret.global_view import DataReference, load_view, make_view, save_view
from icaps.label.task import LabelTask
from icaps.reports.global_report import GlobalReport
from icaps.service.app import create_app
from icaps.service.limits import Limits
from icaps.train.checkpoint import save_edits

ROOT = Path(__file__).resolve().parents[1]
HOME = ROOT / "dashboard" / "Home.py"
TOO_LONG = 60.0  # seconds for one input
SECRET = "QUILLMARSH"  # content of a file that a confined app must not read
_STATUSES = {200, 307, 400, 404, 405, 408, 413, 415, 422}
_SHOWN = 5  # failures printed per kind
_WRITING = ("w", "a", "x", "+")
_COUNTS = {
    **{"texts": 20_000, "files": 2_000, "checkpoints": 500, "links": 500},
    **{"requests": 20_000, "calls": 1_000, "labels": 1_000, "tasks": 1_000},
}
_PROCESSES = ("subprocess.Popen", "os.exec", "os.posix_spawn", "os.system")


class Outcome:
    """The results for the inputs of one kind."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.counts: Counter[str] = Counter()
        self.failures: list[str] = []

    def run(self, what: str, action: Callable[[], None]) -> None:
        """Runs the action for one input, and records the result."""
        began = time.perf_counter()
        try:
            action()
            self.counts["succeeded"] += 1
        except ICapsError as error:
            self.counts[type(error).__name__] += 1
            if not str(error).strip():
                self.fail(what, "an error without a message")
        except Exception as error:  # noqa: BLE001 (it is printed, and the exit code is 1)
            frame = traceback.extract_tb(error.__traceback__)[-1]
            self.fail(what, f"{error!r:.300} at {Path(frame.filename).name}:{frame.lineno}")
        if time.perf_counter() - began > TOO_LONG:
            self.fail(what, f"took {time.perf_counter() - began:.0f} s")

    def fail(self, what: str, why: str) -> None:
        """Records a failure."""
        self.counts["FAILED"] += 1
        self.failures.append(f"{self.name} {what}: {why}")

    def to_text(self) -> str:
        """A line of counts, and a line per failure for the first ones."""
        counts = ", ".join(f"{count:,} {name}" for name, count in self.counts.most_common())
        return "\n  ".join([f"{self.name}: {counts}", *self.failures[:_SHOWN]])


class Watch:
    """Audit hook: writes outside some folders, new processes, connections, and unpickling."""

    def __init__(self, allowed: list[Path], forbidden: Path) -> None:
        self.seen: list[str] = []
        self.unpickling = True  # whether it is recorded
        self._allowed = [str(path.resolve()) for path in allowed]
        self._forbidden = str(forbidden)
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, mode, flags = arguments
            writes = any(c in (mode or "") for c in _WRITING) or (flags or 0) & os.O_CREAT
            if isinstance(path, str) and writes:
                self._check(event, path)
            if path == self._forbidden:
                self.seen.append(f"read {path}")
        elif event in ("os.mkdir", "os.remove", "os.rmdir", "os.chmod"):
            self._check(event, arguments[0], arguments[-1])
        elif event in ("os.rename", "os.link", "os.symlink"):
            self._check(event, arguments[1], arguments[-1])
        elif event in _PROCESSES and arguments[0] != "lscpu":  # which joblib runs to count cores
            self.seen.append(f"{event} {arguments[0]}")
        elif event == "socket.connect" and isinstance(arguments[1], tuple):
            self.seen.append(f"{event} {arguments[1]}")
        elif event == "pickle.find_class" and self.unpickling:
            self.seen.append(f"unpickled {arguments}")

    def _check(self, event: str, path: Any, folder: int = -1) -> None:
        """Records a path outside; `folder` is the descriptor that it is relative to, or -1."""
        if isinstance(path, int) or path is None:
            return
        base = "" if folder < 0 else str(Path(f"/proc/self/fd/{folder}").readlink())
        place = os.path.abspath(Path(base, os.fsdecode(path)))  # noqa: PTH100 (does not follow links)
        if place != os.devnull and not place.startswith(tuple(self._allowed)):
            self.seen.append(f"{event} {place}")


class _Text(HTMLParser):
    """The text of an HTML page without tooltips."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.text, self._tip = "", False
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Detects the start of a tooltip."""
        self._tip = ("class", "icaps-tip") in attrs

    def handle_endtag(self, tag: str) -> None:
        """Detects the end of a tooltip."""
        self._tip = False

    def handle_data(self, data: str) -> None:
        """Collects text outside tooltips."""
        self.text += "" if self._tip else data


def fuzz_texts(classifier: ICapsClassifier, count: int, rng: random.Random) -> Outcome:
    """Explains and renders texts; the page must show the whole text, and K-grams be parts of it."""
    outcome = Outcome("texts")
    names = [*map(str, classifier.classes_), None, None, None]

    def one(text: str, target: str | None) -> None:
        most = {"top_capsules": rng.randint(1, 8), "top_kgrams": rng.randint(1, 5)}
        (found,) = classifier.explain([text], target=target, **most)
        json.loads(json.dumps(found.to_dict()))
        found.to_html()
        found.to_text().encode(errors="backslashreplace")
        assert abs(sum(found.probabilities) - 1) < 1e-4, "the probabilities do not sum to 1"
        for kgram in found.kgrams:
            assert found.text[kgram.start : kgram.end] == kgram.text, "a K-gram is misplaced"
        shown = _Text(found.shaded_html()).text
        assert shown == printable(text), "the page shows another text"

    for number in range(count):
        text, target = hostile.text(rng), rng.choice(names)
        outcome.run(f"{number} {text[:80]!a}", lambda text=text, target=target: one(text, target))
    return outcome


def fuzz_files(place: Path, count: int, rng: random.Random) -> Outcome:
    """Previews data files, reads them to the end, strictly and leniently, and checks them."""
    outcome = Outcome("files")
    seeds = hostile.data_files()

    def one(path: Path) -> None:
        reading = hostile.reading(rng)
        preview(path, {**reading, "on_bad_rows": rng.choice(("strict", "skip"))})
        for on_bad_rows in ("skip", "strict"):
            for record in open_source(path, **reading, on_bad_rows=on_bad_rows):
                assert record.label.strip(), "a blank label"  # a blank text is allowed

    def judge(path: Path) -> None:
        check(open_source(path)).to_text()

    for number in range(count):
        hostile.empty(place)
        path = hostile.write_data(place, seeds, rng)
        outcome.run(f"{number} {path.name}", lambda path=path: one(path))
        outcome.run(f"{number} {path.name} checked", lambda path=path: judge(path))
    return outcome


def fuzz_checkpoints(good: Path, place: Path, count: int, rng: random.Random) -> Outcome:
    """Loads damaged checkpoints, and predicts and explains with those that load."""
    outcome = Outcome("checkpoints")

    def one(folder: Path) -> None:
        classifier = ICapsClassifier.load(folder, device="cpu")
        for found in classifier.explain(["shares of the bank fell", "", "the striker scored"]):
            found.to_html()
        classifier.predict_proba(["shares of the bank fell"] * 3)
        view = load_view(folder, len(classifier.classes_), classifier.network_.config.num_capsules)
        if view is not None:
            facts = GlobalReport(classifier, view).facts
            assert 0 <= facts["accuracy"] <= 1, "an accuracy outside 0 to 1"

    for number in range(count):
        hostile.empty(place)
        folder = Path(shutil.copytree(good, place / "model"))
        hostile.damage_folder(folder, rng)
        outcome.run(str(number), lambda folder=folder: one(folder))
    return outcome


def fuzz_links(place: Path, count: int, rng: random.Random) -> Outcome:
    """Opens links as a visitor does; the app has the models of ICAPS_MODELS.

    Args:
        place: A folder for the files that links refer to.
    """
    from streamlit.testing.v1 import AppTest

    outcome = Outcome("links")
    values = _named_by_links(place)

    def one(page: str, asked: dict[str, str]) -> None:
        at = AppTest.from_file(str(HOME), default_timeout=TOO_LONG)
        at.query_params.update(asked)
        at.switch_page(f"../pages/{page}.py")
        at.run()
        if at.exception:
            raise AssertionError(f"{at.exception[0].value} {at.exception[0].stack_trace[-3:]}")
        for message in at.error:
            outcome.counts["error messages"] += 1
            assert message.value.strip(), "an error without a message"

    for number in range(count):
        page, asked = hostile.link(rng, values)
        what = f"{number} {page} {json.dumps(asked)[:200]}"
        outcome.run(what, lambda page=page, asked=asked: one(page, asked))
    return outcome


def _named_by_links(place: Path) -> tuple[str, ...]:
    """Values for links: names that exist, and paths that must not be reachable."""
    for name, content in hostile.data_files().items():
        (place / name).write_bytes(content)
    os.mkfifo(place / "pipe.csv")
    (place / "round").symlink_to(place / "round")
    files = [str(path) for path in sorted(place.iterdir())]
    return (
        *files,
        *("tiny", "../tiny", "..", ".", "/", "~", "~root", "World", "the predicted class"),
        *("/etc/passwd", "/dev/zero", "/dev/stdin", "/proc/self/mem"),
        *("owner/name", "ag_news", "synthetic", "Upload a file …", "A path or a name …"),
        *("a\0b", "x" * 5_000, "a/" * 2_000, "every class", "the predicted class", "World"),
    )


def fuzz_requests(classifier: ICapsClassifier, count: int, rng: random.Random) -> Outcome:
    """Sends requests to the service: each has an answer, and an error is a sentence."""
    outcome = Outcome("requests")
    limits = Limits(texts=20, characters=4_000, body=100_000, answer=2_000_000)
    app = create_app({"small": classifier}, limits)
    loop = asyncio.new_event_loop()

    def one(method: str, path: str, headers: dict[str, str], body: bytes) -> None:
        status, content = loop.run_until_complete(_exchange(app, method, path, headers, body, rng))
        outcome.counts[f"status {status}"] += 1
        assert status in _STATUSES, f"status {status}: {content[:300]!r}"
        if status not in (200, 307):
            error = json.loads(content)["error"]
            assert 10 <= len(error) < 600 or error == "Not Found", f"error {error!r}"
        elif path in ("/predict", "/explain"):
            json.loads(content.decode(), parse_constant=_refuse)

    lifespan = app.router.lifespan_context(app)
    loop.run_until_complete(lifespan.__aenter__())
    for number in range(count):
        request = hostile.request(rng)
        what = f"{number} {request[:3]} {request[3][:100]!r}"
        outcome.run(what, lambda request=request: one(*request))
    loop.run_until_complete(lifespan.__aexit__(None, None, None))
    loop.close()
    return outcome


async def _exchange(
    app: Any, method: str, path: str, headers: dict[str, str], body: bytes, rng: random.Random
) -> tuple[int, bytes]:
    """The status and content of an answer, to a body that arrives in pieces."""
    route, _, query = path.partition("?")
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": unquote(route),
        "raw_path": route.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in headers.items()],
        "server": ("localhost", 80),
        "client": ("localhost", 1),
    }
    size = rng.choice((1 << 20, 1 << 16, 1_000))
    pieces = [body[start : start + size] for start in range(0, len(body), size)] or [b""]
    answer: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        if not pieces:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": pieces.pop(0), "more_body": bool(pieces)}

    async def send(message: dict[str, Any]) -> None:
        answer.append(message)

    await app(scope, receive, send)
    return answer[0]["status"], b"".join(part.get("body", b"") for part in answer)


def _refuse(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


def fuzz_calls(folder: Path, count: int, rng: random.Random) -> Outcome:
    """Calls the tools for assistants: an answer is a result or a sentence, and no file is read."""
    import mcp

    from icaps.service.mcp_server import create_server

    outcome = Outcome("calls")
    server = create_server({"small": folder}, [folder])

    async def call(message: bytes) -> None:
        try:
            asked = json.loads(message)["params"]
            name, arguments = str(asked["name"]), dict(asked["arguments"])
            json.dumps([name, arguments], ensure_ascii=False).encode()
        except (ValueError, KeyError, TypeError, RecursionError):  # no client could send it
            outcome.counts["not sent"] += 1
            return
        async with mcp.Client(server) as client:
            answer = await client.call_tool(name, arguments)
        said = answer.content[0].text
        assert said.strip(), "an answer without a word"
        assert len(said) < 2_000 or not answer.is_error, "an error of many words"
        assert "Traceback" not in said, said
        assert SECRET not in said, "a file outside was read"
        outcome.counts["errors" if answer.is_error else "results"] += 1

    for number in range(count):
        message = hostile.message(rng)
        what = f"{number} {message[:100]!r}"
        outcome.run(what, lambda message=message: asyncio.run(call(message)))
    return outcome


def fuzz_labels(place: Path, count: int, rng: random.Random) -> Outcome:
    """Reads and writes damaged files of labels, of corrections and of marked words."""
    outcome = Outcome("labels")
    given = {text_hash(one["text"]): "other" for one in hostile.LABELS if "text" in one}

    def labels(path: Path) -> None:
        file = LabelFile(path)
        file.undo(file.add([GivenLabel("lone \ud800", "a"), GivenLabel("text", "b")]), "text")
        for kind in ("csv", "jsonl", "parquet"):
            file.to_bytes(kind)
        assert text_hash("lone \ud800") in load_corrections(path), "a label is lost"

    def corrections(path: Path) -> None:
        for label in read_corrections(path, given, "person"):
            assert label.before == "other", "a label of another text"

    def marks(path: Path) -> None:
        file = MarkedWordsFile(path)
        before = len(file)
        file.set_marks("a new \ud800 text", {"a": [0, 2]})
        assert file.marks("a new \ud800 text") == {"a": frozenset({0, 2})}, "marks are lost"
        assert len(file) == before + 1, "marks of another text are lost"

    for number in range(count):
        for name, action in (("labels", labels), ("corrections", corrections), ("marks", marks)):
            hostile.empty(place)
            objects = hostile.MARKS if action is marks else hostile.LABELS
            suffix = rng.choice((".jsonl", ".csv", ".parquet", ".txt"))
            path = place / f"file{suffix if action is corrections else '.jsonl'}"
            path.write_bytes(hostile.damaged_lines(objects, rng))
            outcome.run(f"{number} {name}", lambda action=action, path=path: action(path))
    return outcome


def fuzz_tasks(place: Path, count: int, rng: random.Random) -> Outcome:
    """Opens damaged tasks of labelling, and labels with those that open."""
    outcome = Outcome("tasks")
    hostile.empty(place)
    texts = [f"text {number} of a bank" for number in range(30)]
    good = LabelTask.create(place / "good", texts, ["a", "b"], held_out=4)
    for number, item in enumerate(good.queue(8)):
        good.give(item.id, "ab"[number % 2])
    good.record_score("run", 8, 3, 4)

    def one(folder: Path) -> None:
        task = LabelTask.open(folder)
        before = task.progress().labelled
        if (item := task.next()) is not None and task.classes:
            task.undo(task.give(item.id, task.classes[0]))
        assert task.progress().labelled == before, "a label that was undone counts"
        task.curve()
        for kind in ("csv", "jsonl", "parquet"):
            task.export(kind)

    for number in range(count):
        shutil.rmtree(place / "task", ignore_errors=True)
        folder = Path(shutil.copytree(good.folder, place / "task"))
        hostile.damage_folder(folder, rng)
        outcome.run(str(number), lambda folder=folder: one(folder))
    return outcome


def tiny_model(folder: Path) -> Path:
    """A small network with its global view and edits, trained for one epoch."""
    model = ModelConfig(fixed_dim=4, trained_dim=4, region_dim=12, query_dim=4, class_dim=4)
    texts = ["shares of the bank fell", "the striker scored twice", "the moon is icy"] * 8
    labels = ["Business", "Sports", "Science"] * 8
    train = TrainConfig(min_frequency=0, epochs=1, seed=1, validation_share=0.25)
    classifier = ICapsClassifier(model, train, device="cpu").fit(texts, labels)
    classifier.save(folder)
    data = open_source((texts, labels))
    save_view(make_view(classifier, folder, DataReference("nowhere.csv", "test", {}), data), folder)
    edits = [neutral_words("bank"), neutral_capsule(1, "Sports")]
    save_edits(folder, [one.to_dict() for one in edits])
    return folder


@contextmanager
def apart() -> Iterator[tuple[Path, Path]]:
    """Context manager with a folder for the app, and another one: working directory and home."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name).resolve()
        app, outside = place / "app", place / "outside"
        for folder in (app / "models", app / "data", app / "scratch", outside):
            folder.mkdir(parents=True)
        for setting, value in (
            *(("ICAPS_DATA", app / "data"), ("ICAPS_MODELS", app / "models")),
            *(("HOME", outside), ("TMPDIR", app / "scratch"), ("ICAPS_NETWORK", "never")),
        ):
            os.environ[setting] = str(value)
        tempfile.tempdir = str(app / "scratch")
        (outside / "secret.csv").write_text(f"text,label\n{SECRET} one,a\n{SECRET} two,b\n" * 9)
        before = Path.cwd()
        os.chdir(outside)
        try:
            yield app, outside
        finally:
            os.chdir(before)
            tempfile.tempdir = None


def main() -> int:
    """Runs all kinds of inputs, prints the counts, and returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, default=ROOT / "checkpoints" / "ag_news")
    for name, count in _COUNTS.items():
        parser.add_argument(f"--{name}", type=int, default=count, metavar="N")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    model = options.model.resolve()
    with apart() as (app, outside):
        good = tiny_model(app / "models" / "tiny")
        work = app / "scratch" / "work"
        work.mkdir()
        watch = Watch([app], outside / "secret.csv")
        classifier = ICapsClassifier.load(model, device="cpu")
        kinds: dict[str, Callable[[int], Outcome]] = {
            "texts": lambda count: fuzz_texts(classifier, count, rng),
            "files": lambda count: fuzz_files(work, count, rng),
            "checkpoints": lambda count: fuzz_checkpoints(good, work, count, rng),
            "requests": lambda count: fuzz_requests(classifier, count, rng),
            "calls": lambda count: fuzz_calls(good, count, rng),
            "labels": lambda count: fuzz_labels(work, count, rng),
            "tasks": lambda count: fuzz_tasks(work, count, rng),
            "links": lambda count: _fuzz_pages(outside, work, count, rng),
        }
        failed = False
        for name, fuzz in kinds.items():
            if count := getattr(options, name):
                hostile.empty(work)
                watch.unpickling = name != "links"  # Streamlit's cache pickles the app's results
                outcome = fuzz(count)
                print(outcome.to_text(), flush=True)
                failed = failed or bool(outcome.failures)
        print("\n".join(sorted(set(watch.seen))[:20]) or "no forbidden event")
        left = sorted(path.name for path in outside.iterdir() if path.name != "secret.csv")
        print("\n".join(f"left behind: {name}" for name in left) or "nothing was left behind")
        return int(failed or bool(watch.seen or left))


def _fuzz_pages(outside: Path, work: Path, count: int, rng: random.Random) -> Outcome:
    """Opens links of an app that may read only some folders."""
    settings = work.parent / "settings.toml"
    settings.write_text(f'data_roots = ["{work}"]\n')
    os.environ["ICAPS_SETTINGS"] = str(settings)
    (work / "secret.csv").symlink_to(outside / "secret.csv")  # the target is outside that folder
    return fuzz_links(work, count, rng)


if __name__ == "__main__":
    raise SystemExit(main())
