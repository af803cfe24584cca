"""A network of `networks.py` with its vocabulary, as a baseline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import save_file
from torch import Tensor, nn

from icaps.baselines.base import WEIGHTS, Baseline, positive
from icaps.baselines.kinds import CAPSNET, REGION_EMBEDDINGS, WORD_CNN
from icaps.baselines.networks import CapsNet, RegionEmbeddings, WordCNN
from icaps.errors import ConfigError
from icaps.text.batch import PAD
from icaps.text.vocabulary import Vocabulary
from icaps.train.checkpoint import read_weights, shapes, without_memory
from icaps.train.checkpoint_files import BASELINE, VOCABULARY

Network = WordCNN | RegionEmbeddings | CapsNet
MAX_WORDS = 400  # of a text that are read
BATCH_WORDS = 16_384  # a pass, padding included, which bounds memory
_CLASSES: dict[str, type[Network]] = {
    WORD_CNN: WordCNN,
    REGION_EMBEDDINGS: RegionEmbeddings,
    CAPSNET: CapsNet,
}


class NetworkBaseline(Baseline):
    """A trained network, in eval mode, on the CPU."""

    def __init__(
        self,
        kind: str,
        classes: NDArray[Any],
        vocabulary: Vocabulary,
        network: Network,
        inverse_temperature: float,
    ) -> None:
        super().__init__(kind, classes)
        self.vocabulary_ = vocabulary
        self.network_ = network
        self.inverse_temperature_ = inverse_temperature

    def predict_proba(self, X: Sequence[str]) -> NDArray[np.float64]:  # noqa: N803
        """Softmax (texts, J) of the scores, or norms, times the fitted factor."""
        tokens = self.vocabulary_.encode(X, MAX_WORDS, spans=False)
        ids = [torch.from_numpy(text.ids).long() for text in tokens]
        scores = predict_scores(self.network_, ids, len(self.classes_)).double()
        probabilities: NDArray[np.float64] = (scores * self.inverse_temperature_).softmax(1).numpy()
        return probabilities

    @property
    def num_weights(self) -> int:
        """All that are trained."""
        return sum(weight.numel() for weight in self.network_.parameters())

    def write(self, folder: Path) -> dict[str, Any]:
        """Vocabulary and weights, as in a checkpoint."""
        self.vocabulary_.save(folder / VOCABULARY)
        weights = {name: value.contiguous() for name, value in self.network_.state_dict().items()}
        save_file(weights, folder / WEIGHTS)
        return {"inverse_temperature": self.inverse_temperature_}

    @classmethod
    def read(
        cls, folder: Path, kind: str, classes: NDArray[Any], settings: dict[str, Any]
    ) -> NetworkBaseline:
        """See `Baseline.read`."""
        factor = positive(settings["inverse_temperature"])
        vocabulary = Vocabulary.load(folder / VOCABULARY)
        network = without_memory(lambda: make_network(kind, len(vocabulary), len(classes)))
        weights = read_weights(folder / WEIGHTS, shapes(network), BASELINE)
        network.load_state_dict(
            {name: value.float() for name, value in weights.items()}, assign=True
        )
        return cls(kind, classes, vocabulary, network.eval(), factor)


def make_network(kind: str, vocabulary_size: int, num_classes: int) -> Network:
    """A new network of a kind, of its default sizes.

    Raises:
        ConfigError: There is no such kind.
    """
    if kind not in _CLASSES:
        raise ConfigError(f"There is no network {kind!r}; take one of {', '.join(_CLASSES)}.")
    return _CLASSES[kind](vocabulary_size, num_classes)


def padded(ids: Sequence[Tensor]) -> Tensor:
    """Texts of ids (words,) as one (texts, N), N at least 1."""
    rows = nn.utils.rnn.pad_sequence(list(ids), batch_first=True, padding_value=PAD)
    return rows if rows.shape[1] else rows.new_full((len(rows), 1), PAD)


def predict_scores(network: Network, ids: Sequence[Tensor], num_classes: int) -> Tensor:
    """Scores or norms (texts, J) of texts of ids; the network is expected in eval mode.

    Texts of much the same length go together, which leaves little padding to read.
    """
    scores = torch.zeros(len(ids), num_classes)
    with torch.inference_mode():
        for batch in _batches([len(text) for text in ids]):
            scores[batch] = network(padded([ids[n] for n in batch]))
    return scores


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Positions of all texts, the shortest first, of at most BATCH_WORDS words with padding."""
    batch: list[int] = []
    for n in np.argsort(lengths, kind="stable").tolist():
        if batch and (len(batch) + 1) * lengths[n] > BATCH_WORDS:
            yield batch
            batch = []
        batch.append(n)
    if batch:
        yield batch
