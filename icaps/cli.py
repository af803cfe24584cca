"""The `icaps` command: train, evaluate, explain, interpret, presets, data.

Exit codes: 0 done; 2 a mistake in what was asked for, told in one line on stderr; 130 ended by
Ctrl-C with what was reached saved.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from icaps.config import PRESETS, ModelConfig, TrainConfig, get_preset, override
from icaps.data.commands import (
    add_bad_rows_option,
    add_reading_options,
    reading_options,
    say_problems,
)
from icaps.data.commands import add_parser as add_data_commands
from icaps.errors import ConfigError, DataError, ICapsError
from icaps.interpret.commands import add_parser as add_interpret

if TYPE_CHECKING:
    from icaps.data.source import Source

READ_AHEAD = 256  # texts read from a file or pipe before they are answered


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit code."""
    options = _parser().parse_args(arguments)
    # A text may hold what the terminal's encoding can't say; it is then shown escaped.
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        code: int = options.command(options)
        sys.stdout.flush()
    except ICapsError as error:
        print(f"icaps: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:  # training ends by itself; a download goes on at the next call
        print("icaps: stopped", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of our output has seen enough
        sys.stderr.close()
        return 0
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="icaps", description="Text classification with capsules that show their reasons."
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    train = commands.add_parser("train", help="train a model and write its folder")
    train.add_argument(
        "--data",
        required=True,
        metavar="DATA",
        help="a file of texts and labels (CSV, TSV, JSON, Parquet, Arrow, fastText), a folder with "
        "train and test files, one with a folder of texts a class, or a name: icaps data list",
    )
    add_reading_options(train)
    add_bad_rows_option(train)
    train.add_argument("--out", required=True, metavar="DIR", help="folder of the new model")
    train.add_argument("--preset", metavar="NAME", help="settings from the paper: icaps presets")
    train.add_argument(
        "--vectors",
        action="append",
        metavar="PATH",
        help="file of word vectors, or a gensim-data name, or 'texts' for vectors trained on the "
        "texts, which is the default; repeated, they stand side by side",
    )
    train.add_argument("--seed", type=int, metavar="N", help="of all random numbers")
    train.add_argument("--device", default="auto", help="auto, cpu, cuda or mps")
    train.add_argument(
        "--set",
        action="append",
        default=[],
        dest="settings",
        metavar="KEY=VALUE",
        help="any single setting; may be repeated",
    )
    train.add_argument(
        "--resume", action="store_true", help="go on with a training that was stopped in DIR"
    )
    _add_timeout(train)
    train.set_defaults(command=_train)

    evaluate = commands.add_parser("evaluate", help="score a model on labelled texts")
    evaluate.add_argument("--model", required=True, metavar="DIR")
    evaluate.add_argument(
        "--data",
        required=True,
        metavar="DATA",
        help="a file, or a folder or a name whose test file is taken",
    )
    add_reading_options(evaluate)
    add_bad_rows_option(evaluate)
    evaluate.add_argument("--json", action="store_true", help="print JSON")
    _add_mute(evaluate)
    _add_timeout(evaluate)
    evaluate.set_defaults(command=_evaluate)

    explain = commands.add_parser("explain", help="say why a text gets its class")
    explain.add_argument("--model", required=True, metavar="DIR")
    explain.add_argument("--json", action="store_true", help="print JSON, a line a text")
    explain.add_argument(
        "--json-lines",
        action="store_true",
        help='read {"text": ...} a line, so that a text may hold line ends',
    )
    explain.add_argument("--top-capsules", type=int, default=2, metavar="K1")
    explain.add_argument("--top-kgrams", type=int, default=2, metavar="K2")
    explain.add_argument(
        "--top-sentences", type=int, default=1, metavar="N", help="for models of long texts"
    )
    _add_mute(explain)
    explain.add_argument("--target", metavar="CLASS", help="explain this class, not the predicted")
    explain.add_argument(
        "texts",
        nargs="*",
        metavar="TEXT",
        help="without one, standard input is read, a text a line",
    )
    explain.set_defaults(command=_explain)

    _add_timeout(add_interpret(commands))

    presets = commands.add_parser("presets", help="list the paper's settings")
    presets.add_argument("--json", action="store_true", help="print JSON")
    presets.set_defaults(command=_presets)

    add_data_commands(commands)
    return parser


def _add_mute(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--mute",
        action="append",
        type=int,
        default=[],
        metavar="CAPSULE",
        help="switch off a primary capsule, by number; may be repeated",
    )


def _add_timeout(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--timeout",
        type=float,
        default=600,
        metavar="SECONDS",
        help="under torchrun, how long a process waits for another before it gives up",
    )


def _train(options: argparse.Namespace) -> int:
    model, train = ModelConfig(), TrainConfig()
    if options.preset:
        preset = get_preset(options.preset)
        model, train = preset.model, preset.train
    settings = dict(_setting(text) for text in options.settings)
    if options.seed is not None:
        settings["seed"] = str(options.seed)
    model, train = override(model, train, settings)

    from icaps.distributed import process_group

    with process_group(options.device, options.timeout):
        return _train_together(options, model, train)


def _train_together(options: argparse.Namespace, model: ModelConfig, train: TrainConfig) -> int:
    from icaps import distributed
    from icaps.checkpoint import LAST, check_place
    from icaps.classifier import ICapsClassifier
    from icaps.data.names import resolve
    from icaps.data.places import has_part
    from icaps.data.source import open_source
    from icaps.metrics import evaluate
    from icaps.progress import Progress
    from icaps.resume import forget

    check_place(options.out)  # before the work, not after it
    progress = Progress(sys.stderr)
    place = resolve(options.data, progress)
    source = open_source(place, "train", **reading_options(options))
    test = None
    if has_part(place, "test"):
        test = open_source(place, "test", **reading_options(options))
        for _ in test:  # a bad row is found before the training, not after it
            pass
    last = Path(options.out) / LAST
    classifier = ICapsClassifier(
        model,
        train,
        options.vectors,
        options.device,
        (progress,),
        progress.say,
        last,
        options.resume,
    )
    classifier.fit_stream(source, workers=os.cpu_count() or 1)
    first = not distributed.rank()
    if first:
        say_problems(source, "train")
        classifier.save(options.out)  # whatever becomes of the test
        progress.say(f"saved to {options.out}")
    if classifier.interrupted_:
        return 130
    if first:
        forget(last)
    if test is not None:
        scores = classifier.metrics_["test"] = evaluate(classifier, _pairs(test))
        if first:
            say_problems(test, "test")
            classifier.save(options.out)
            progress.say(f"test accuracy {scores['accuracy']:.2%}")
    return 0


def _evaluate(options: argparse.Namespace) -> int:
    from icaps import distributed
    from icaps.classifier import ICapsClassifier
    from icaps.data.names import resolve
    from icaps.data.source import open_source
    from icaps.metrics import evaluate
    from icaps.progress import Progress

    with distributed.process_group("auto", options.timeout):
        classifier = ICapsClassifier.load(options.model).without(options.mute)
        place = resolve(options.data, Progress(sys.stderr))
        source = open_source(place, "test", **reading_options(options))
        scores = evaluate(classifier, _pairs(source))
        first = distributed.rank() == 0
    if first:
        say_problems(source, "test")
        _print_scores(scores, options.json)
    return 0


def _print_scores(scores: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print(json.dumps(scores))
        return
    print(
        f"{scores['n']} texts, accuracy {scores['accuracy']:.2%}, macro F1 {scores['macro_f1']:.2%}"
    )
    for name, values in scores["per_class"].items():
        print(
            f"{name}: precision {values['precision']:.2%}, recall {values['recall']:.2%}, "
            f"F1 {values['f1']:.2%} of {values['support']}"
        )


def _explain(options: argparse.Namespace) -> int:
    from icaps.classifier import ICapsClassifier

    classifier = ICapsClassifier.load(options.model).without(options.mute)
    texts = iter(options.texts) if options.texts else _read_texts(sys.stdin, options.json_lines)
    while batch := list(islice(texts, READ_AHEAD if not sys.stdin.isatty() else 1)):
        for explanation in classifier.explain(
            batch,
            target=options.target,
            top_capsules=options.top_capsules,
            top_kgrams=options.top_kgrams,
            top_sentences=options.top_sentences,
        ):
            print(json.dumps(explanation.to_dict()) if options.json else explanation.to_text())
        sys.stdout.flush()
    return 0


def _presets(options: argparse.Namespace) -> int:
    rows = [preset.to_dict() for preset in PRESETS.values()]
    if options.json:
        print(json.dumps(rows))
        return 0
    for row in rows:
        print(row.pop("name"), *(f"{key}={value}" for key, value in row.items()))
    return 0


def _pairs(source: Source) -> Iterator[tuple[str, str]]:
    return ((record.text, record.label) for record in source)


def _setting(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise ConfigError(f"--set takes KEY=VALUE, such as --set dropout=0.2, not {text!r}.")
    return key.strip(), value.strip()


def _read_texts(lines: Iterable[str], as_json: bool) -> Iterator[str]:
    for number, line in enumerate(lines, start=1):
        if not as_json:
            yield line.removesuffix("\n")
            continue
        if line.strip():
            yield _text_of(line, number)


def _text_of(line: str, number: int) -> str:
    try:
        value = json.loads(line)
    except ValueError as error:
        raise DataError(f"Line {number} is no JSON ({error}).") from error
    if not isinstance(value, dict) or not isinstance(value.get("text"), str):
        raise DataError(f'Line {number} must be an object with a text: {{"text": "..."}}.')
    return str(value["text"])
