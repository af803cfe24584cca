"""Tools for assistants by the Model Context Protocol: predict, explain, evaluate, check data.

An assistant calls them with plain data and gets plain data, so that it can ask a model for its
reasons, or look into a data set before it trains on it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, Literal, ParamSpec

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

from icaps.classifier import ICapsClassifier
from icaps.config import ACCOUNT, ExplainOptions
from icaps.data.check import check
from icaps.data.part_files import has_part
from icaps.data.source import open_source
from icaps.errors import ICapsError
from icaps.evaluate.evaluation import EvaluationData, evaluate_data
from icaps.evaluate.leakage import seen_share
from icaps.evaluate.report import make_report
from icaps.service.batching import BATCH_CHARACTERS, compute, describe
from icaps.service.readable import resolve_readable
from icaps.train.checkpoint_files import weights_fingerprint

MAX_TEXTS = 256  # of a call; an answer is read as a whole
MAX_CHARACTERS = BATCH_CHARACTERS  # of all texts of a call
_LONGEST = 1_000  # characters of an error, which may quote the call
_WORDS = 20  # of an explanation: those that add most, for or against

Given = ParamSpec("Given")


def create_server(folders: Mapping[str, Path], data: Sequence[Path] = ()) -> MCPServer[Any]:
    """The server of some models and of the data that may be read.

    Args:
        folders: The folders of the models by name; the first one is the default.
        data: Folders whose files `evaluate` and `check_data` may read.

    Raises:
        CheckpointError: A folder is not a checkpoint.
    """
    models = {name: ICapsClassifier.load(folder) for name, folder in folders.items()}
    default = next(iter(models))
    server: MCPServer[Any] = MCPServer(
        "icaps",
        instructions="Text classifiers that show their reasons. A share is what a word adds to the "
        "score of a class (negative: against it); bias and shares add up to the score.",
        log_level="WARNING",  # others would write texts and paths to the log of the assistant
    )

    readable = tuple(data)  # `data` is also what tools name

    def find(model: str) -> str:
        name = model or default
        if name not in models:
            raise ToolError(f"There is no model {name[:100]!r}; choose {', '.join(models)}.")
        return name

    def tool(
        function: Callable[Given, dict[str, Any]],
    ) -> Callable[Given, dict[str, Any]]:
        """Registers a tool; an error for users is its answer."""

        @wraps(function)
        def call(*args: Given.args, **kwargs: Given.kwargs) -> dict[str, Any]:
            try:
                return function(*args, **kwargs)
            except ICapsError as error:
                raise ToolError(str(error)[:_LONGEST]) from error

        server.tool()(call)
        return call

    @tool
    def list_models() -> dict[str, Any]:
        """The models by name, with their classes; the first is used where none is named."""
        return describe(models)

    @tool
    def predict(texts: list[str], model: str = "") -> dict[str, Any]:
        """The class of each text (a list if texts have several), with probabilities by class."""
        _check_size(texts)
        return {"results": compute(models[find(model)], texts, None)}

    @tool
    def explain(texts: list[str], model: str = "", target: str = "") -> dict[str, Any]:
        """Why each text has its class, or `target`: the words that add most, K-grams, the bias."""
        _check_size(texts)
        options = ExplainOptions(target=target or None, ranking=ACCOUNT)
        return {"results": [_summary(one) for one in compute(models[find(model)], texts, options)]}

    @tool
    def evaluate(
        data: str, model: str = "", part: Literal["test", "train", "held_out"] = "test"
    ) -> dict[str, Any]:
        """Scores of a model on labelled texts: a file, a folder, or a name of `icaps data list`.

        `part` is test, train, or held_out: the texts that were held out of the model's training.
        `leak` counts the texts that the model was trained on.
        """
        name = find(model)
        place = resolve_readable(data, readable)
        texts = EvaluationData(place, part, {}, folders[name])
        evaluation = evaluate_data(models[name], weights_fingerprint(folders[name]), texts)
        leak = seen_share(folders[name], evaluation.texts)
        return {**make_report(evaluation).to_dict(), "leak": leak and leak.to_dict()}

    @tool
    def check_data(data: str) -> dict[str, Any]:
        """Whether texts can be trained on, and what is wrong: rows, labels, repeats."""
        place = resolve_readable(data, readable)
        test = open_source(place, "test") if has_part(place, "test") else None
        return check(open_source(place, "train"), test).to_dict()

    return server


def _check_size(texts: list[str]) -> None:
    if len(texts) > MAX_TEXTS:
        raise ToolError(f"{len(texts)} texts are more than {MAX_TEXTS}; call again for the rest.")
    characters = sum(map(len, texts))
    if characters > MAX_CHARACTERS:
        raise ToolError(
            f"The texts have {characters:,} characters; at most {MAX_CHARACTERS:,} are read in a "
            "call."
        )


def _summary(explanation: dict[str, Any]) -> dict[str, Any]:
    """The part of an explanation that an assistant reads: words by their size, and K-grams."""
    text = explanation["text"]
    words = sorted(explanation["words"], key=lambda word: -abs(word["share"]))[:_WORDS]
    names = ("predicted", "target", "probabilities", "scores", "bias", "unknown_share", "blank")
    return {name: explanation[name] for name in names} | {
        "words": [
            {"word": text[word["start"] : word["end"]], **word} for word in words if word["share"]
        ],
        "kgrams": [
            {"text": kgram["text"], "share": kgram["share"], "capsule": kgram["capsule_name"]}
            for kgram in explanation["kgrams"]
        ],
    }
