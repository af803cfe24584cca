"""Time of an explanation relative to a prediction and to other explainers, and per text.

    python -m benchmarks.explaining [--model FOLDER] [--data DATA] [--quick] [--json]

Without --data the texts are random words of the model's vocabulary, by frequency, in the lengths of
news items; else they are the test texts of a data set. All sides run the same texts in turns, in
one process: a speed is that of the median time, a ratio the median of the ratios of the turns.

Many texts are explained as columns (`ICapsClassifier.reasons`, with the K-grams spelled out), as on
the page for a table; `objects` are those of `explain`, with the count and weights of every word.
`account` is the same as columns with the K-grams by the account and the share of every word, and
`shares` are the shares of words of the predicted class alone, without K-grams.

The time per text is that of a warm model, which has its lookup table of words. The other explainers
explain one text at a time, from a string, for the predicted class of the same network with its
table: LIME with 1,000 samples, Captum's Integrated Gradients with 50 steps over the embeddings of
the words, and, without --quick, SHAP's Partition with its default number of evaluations.
`short_gradients` are the same Integrated Gradients as `icaps.faithfulness.attributions` shortens
them. `account_one` is the account of one text for all classes, by word and capsule. A turn of a
side is several texts, one after another; `explain_many`, `accounts` and `passes` are our
explanations, our accounts and our accounts by passes of many texts in one call, which the others do
not offer.
"""

from __future__ import annotations

import argparse
import random
import statistics
from collections import deque
from collections.abc import Callable
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from lime.lime_text import LimeTextExplainer
from numpy.typing import NDArray
from torch import Tensor

from benchmarks.machine import machine
from benchmarks.timing import by_turns, ratio, seconds, show
from icaps.classifier import ICapsClassifier
from icaps.config import ACCOUNT
from icaps.data.resolve import resolve
from icaps.data.source import open_source
from icaps.faithfulness.attributions.account_passes import account_by_passes
from icaps.faithfulness.attributions.integrated_gradients import (
    AT_ONCE,
    STEPS,
    integrated_gradients,
)
from icaps.faithfulness.attributions.lime import SAMPLES
from icaps.faithfulness.texts import ExplainedTexts, read_explained
from icaps.inference import CHUNK, class_norms, read_texts
from icaps.interpret.account import BatchAccount
from icaps.nn.packing import lay_out
from icaps.text.batch import TokenBatch
from icaps.text.sentences import encode

ROOT = Path(__file__).resolve().parents[1]
WORDS = (15, 60)  # shortest and longest text
COUNTS = {True: (2_000, 3, 200, 7), False: (5_000, 5, 300, 15)}  # texts, rounds, and one by one

Explainer = Callable[[str], Any]


def make_texts(classifier: ICapsClassifier, count: int) -> list[str]:
    """Texts of random words, as frequent as in the training texts."""
    random_words = random.Random(0)
    words, counts = classifier.vocabulary_.words[2:], classifier.vocabulary_.counts[2:]
    lengths = [random_words.randint(*WORDS) for _ in range(count)]
    drawn = iter(random_words.choices(words, counts, k=sum(lengths)))
    return [" ".join(next(drawn) for _ in range(length)) for length in lengths]


def read_test(name: str, count: int) -> list[str]:
    """The first test texts of a data set."""
    return [text for text, _ in islice(open_source(resolve(name), "test").pairs(), count)]


def explain_by_account(classifier: ICapsClassifier, texts: list[str]) -> None:
    """K-grams by the account, spelled out, and the share of every word."""
    for part in classifier.reasons(texts, ranking=ACCOUNT):
        part.spell()
        part.word_shares  # noqa: B018 (computed when it is first read)


def share_words(classifier: ICapsClassifier, texts: list[str]) -> None:
    """The shares of words of the predicted class of each text."""
    network = classifier.network_
    for batch in read_texts(network, classifier.vocabulary_, texts):
        BatchAccount(network, batch).word_shares(batch.activity.class_norms.argmax(1).numpy())


def account_in_passes(classifier: ICapsClassifier, texts: list[str]) -> None:
    """The order of the words of each text by `account_by_passes`."""
    deque(account_by_passes(read_explained(classifier, texts), "deletion"), maxlen=0)


def account_one(classifier: ICapsClassifier, text: str) -> None:
    """The account of one text."""
    for account in classifier.account([text]):
        account.shares()


def explain_one(classifier: ICapsClassifier, text: str) -> None:
    """Our explanation of one text."""
    deque(classifier.explain([text]), maxlen=0)


def lime_one(classifier: ICapsClassifier, explainer: LimeTextExplainer, text: str) -> None:
    """LIME on one text."""
    explainer.explain_instance(text, classifier.predict_proba, num_samples=SAMPLES, top_labels=1)


def read_one(classifier: ICapsClassifier, text: str) -> ExplainedTexts:
    """One text as the network reads it."""
    (readings,) = read_texts(classifier.network_, classifier.vocabulary_, [text])
    return ExplainedTexts.predicted(classifier.network_, (), tuple(readings))


def short_gradients_one(classifier: ICapsClassifier, text: str) -> None:
    """Integrated Gradients on one text, shortened by us."""
    deque(integrated_gradients(read_one(classifier, text)), maxlen=0)


def gradients_one(classifier: ICapsClassifier, text: str) -> None:
    """Integrated Gradients on one text."""
    embedding_gradients(read_one(classifier, text))


def norm_of_words(
    texts: ExplainedTexts, tokens: TokenBatch, target: int
) -> Callable[[Tensor], Tensor]:
    """The class norm (points,) as a function of the projected words (points, words, K, d_w).

    Args:
        texts: The network, and the capsules that are switched off.
        tokens: The text, which gives the ends of its sentences.
        target: The explained class, by number.
    """
    network = texts.network

    def norm(points: Tensor) -> Tensor:
        count, words = points.shape[:2]
        padding = points.new_zeros(1, *points.shape[2:])
        table = torch.cat([points.flatten(0, 1), padding])  # (points * words + 1, K, d_w)
        rows = torch.arange(count * words, device=points.device)
        lengths = np.tile(tokens.words_per_sentence, count)
        layout = lay_out(lengths, network.config.kernel_size, points.device)
        regions = network.activation(network.region(table, rows, layout))
        attended = network.attention(regions, layout, np.repeat(tokens.sentences_per_text, count))
        norms: Tensor = network.route(attended, texts.capsule_mask).class_norms[:, target]
        return norms

    return norm


def embedding_gradients(texts: ExplainedTexts) -> list[NDArray[np.floating]]:
    """Integrated Gradients of each word (words,), over all numbers of its embedding."""
    from captum.attr import IntegratedGradients  # late, as it has 30 MB, which `peaks` would count

    network, results = texts.network, []
    for reading, target in texts:
        ids = network.word_ids(reading.tokens)
        norm = norm_of_words(texts, reading.tokens, target)

        def norm_of_embeddings(points: Tensor, norm: Callable[..., Tensor] = norm) -> Tensor:
            sizes = [network.config.fixed_dim, network.config.trained_dim]
            words = network.region.project(*points.flatten(0, 1).split(sizes, dim=1))
            return norm(words.unflatten(0, points.shape[:2]))

        with torch.no_grad():
            embeddings = torch.cat(network.embed_words(ids), dim=1)
        scores = IntegratedGradients(norm_of_embeddings).attribute(
            embeddings[None], n_steps=STEPS, internal_batch_size=max(1, AT_ONCE // len(ids))
        )
        results.append(scores.sum((0, 2)).numpy())
    return results


def shap_explainer(classifier: ICapsClassifier) -> Explainer:
    """SHAP's Partition, which clusters neighbouring words."""
    import shap  # compiles, which takes a minute

    names = list(map(str, classifier.classes_))
    words = shap.maskers.Text(r"\W+")
    explainer = shap.explainers.Partition(classifier.predict_proba, words, output_names=names)
    return lambda text: explainer([text], silent=True)


def measure_speeds(classifier: ICapsClassifier, texts: list[str], rounds: int) -> dict[str, Any]:
    """Predictions and explanations of many texts, from strings and from numbers of words."""
    network, vocabulary = classifier.network_, classifier.vocabulary_
    tokens = [
        encode(vocabulary, texts[start : start + CHUNK], network.config, spans=False)
        for start in range(0, len(texts), CHUNK)
    ]
    times = by_turns(
        {
            "predict": lambda: classifier.predict(texts),
            "tokens": lambda: np.concatenate([class_norms(network, t).argmax(1) for t in tokens]),
            "explain": lambda: [part.spell() for part in classifier.reasons(texts)],
            "account": lambda: explain_by_account(classifier, texts),
            "shares": lambda: share_words(classifier, texts),
            "objects": lambda: deque(classifier.explain(texts), maxlen=0),
        },
        rounds,
    )
    speeds = {name: round(len(texts) / statistics.median(side)) for name, side in times.items()}
    return {
        "texts": len(texts),
        "explain_over_predict": ratio(times["explain"], times["predict"]),
        "account_over_predict": ratio(times["account"], times["predict"]),
        "word_shares_over_predict": ratio(times["shares"], times["predict"]),
        "explanation_objects_over_predict": ratio(times["objects"], times["predict"]),
        "predict_texts_per_second": speeds["predict"],
        "predict_texts_per_second_from_tokens": speeds["tokens"],
        "raw_over_tokens": ratio(times["tokens"], times["predict"]),
        "explain_texts_per_second": speeds["explain"],
        "account_texts_per_second": speeds["account"],
        "word_shares_texts_per_second": speeds["shares"],
        "explanation_objects_per_second": speeds["objects"],
    }


def measure_explainers(
    classifier: ICapsClassifier, texts: list[str], rounds: int, quick: bool
) -> dict[str, Any]:
    """Time per text of the other explainers relative to ours, on the first few texts."""
    compared = texts[: COUNTS[quick][-1]]
    names = list(map(str, classifier.classes_))
    sides: dict[str, Explainer] = {
        "explain": partial(explain_one, classifier),
        "account_one": partial(account_one, classifier),
        "integrated_gradients": partial(gradients_one, classifier),
        "short_gradients": partial(short_gradients_one, classifier),
        "lime": partial(lime_one, classifier, LimeTextExplainer(class_names=names, random_state=0)),
    }
    if not quick:
        sides["shap"] = shap_explainer(classifier)
    turns: dict[str, Callable[[], Any]] = {
        name: partial(_each, side, compared) for name, side in sides.items()
    }
    many: dict[str, Callable[[], Any]] = {
        "explain_many": lambda: deque(classifier.explain(texts), maxlen=0),
        "accounts": lambda: share_words(classifier, texts),
        "passes": lambda: account_in_passes(classifier, texts),
    }
    turns |= many
    warm = {name: partial(sides.get(name, sides["explain"]), compared[0]) for name in turns}
    times = by_turns(turns, rounds, warm, pause=0.5)
    for name, side_times in times.items():
        count = len(texts) if name in many else len(compared)
        times[name] = [taken / count for taken in side_times]
    others = [name for name in sides if name not in ("explain", "account_one")]
    return {
        "texts_one_by_one": len(compared),
        **{
            f"{name}_over_{ours}": ratio(times[name], times[ours])
            for ours in ("explain", "account_one", *many)
            for name in others
        },
        **{f"{name}_ms": _milliseconds(statistics.median(times[name])) for name in times},
    }


def _each(side: Explainer, texts: list[str]) -> None:
    for text in texts:
        side(text)


def measure(classifier: ICapsClassifier, texts: list[str], quick: bool) -> dict[str, Any]:
    """All figures."""
    _, rounds, singles, _ = COUNTS[quick]
    speeds = measure_speeds(classifier, texts, rounds)  # which warms up, too
    single = [seconds(partial(explain_one, classifier, text)) for text in texts[:singles]]
    accounts = [seconds(partial(account_one, classifier, text)) for text in texts[:singles]]
    return {
        **speeds,
        **measure_explainers(classifier, texts, rounds, quick),
        "one_text_ms_median": _milliseconds(statistics.median(single)),
        "one_text_ms_95": _milliseconds(statistics.quantiles(single, n=20)[-1]),
        "one_account_ms_median": _milliseconds(statistics.median(accounts)),
        "one_account_ms_95": _milliseconds(statistics.quantiles(accounts, n=20)[-1]),
        "machine": machine(),
    }


def _milliseconds(time: float) -> float:
    return round(1e3 * time, 2)


def main() -> None:
    """Runs all sides and prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default=ROOT / "checkpoints" / "ag_news")
    parser.add_argument("--data", help="a path or a name, whose test texts are taken")
    parser.add_argument("--quick", action="store_true", help="fewer texts and rounds, and no SHAP")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    classifier = ICapsClassifier.load(options.model, device="cpu")
    count, *_ = COUNTS[options.quick]
    texts = read_test(options.data, count) if options.data else make_texts(classifier, count)
    show(measure(classifier, texts, options.quick), options.json)


if __name__ == "__main__":
    main()
