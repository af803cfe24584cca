"""A trained model as a folder for `onnx_runner`: the network as ONNX, words, classes, settings.

Weights are float32. Frozen vectors are bytes, as in a checkpoint, and each distinct one is stored
once. The package `onnx` writes the folder; reading it takes only `onnxruntime`.
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
import zipfile
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from icaps.config import INDEPENDENT, VECTOR_STEP
from icaps.data.atomic import updated_folder, write_json
from icaps.errors import CheckpointError, ConfigError
from icaps.inference import capsule_mask
from icaps.model import HierarchicalAttention
from icaps.portable.onnx_files import FORMAT_VERSION, INSTALL, NETWORK, SETTINGS
from icaps.portable.onnx_runner import OnnxClassifier
from icaps.portable.word_weights import distinct_vectors, word_matrix
from icaps.train.checkpoint_files import CLASSES, VOCABULARY, write_classes
from icaps.trained_model import TrainedModel

if TYPE_CHECKING:
    from icaps.portable.onnx_graph import GraphWeights

_FILES = (NETWORK, VOCABULARY, CLASSES, SETTINGS)
_MAX_BYTES = 2_000_000_000  # of a model in one file: the limit of its format


def obstacle(model: TrainedModel) -> str:
    """Why a model cannot be exported as ONNX, as a sentence; empty if it can be."""
    activation = model.network_.config.activation
    if activation != "none":
        return (
            f"A network with an activation ({activation}) cannot be exported as ONNX, since its "
            "account is one of regions and not of words; train one without."
        )
    return ""


def export_onnx(model: TrainedModel, folder: str | Path) -> None:
    """Writes the folder; an earlier export there is replaced.

    Raises:
        ConfigError: The model cannot be exported (`obstacle`), or onnx is not installed.
        CheckpointError: The folder cannot be written, or holds something else.
    """
    folder = Path(folder)
    if reason := obstacle(model):
        raise ConfigError(reason)
    try:
        from icaps.portable.onnx_graph import network_graph
    except ImportError as error:
        raise ConfigError(f"For an export as ONNX run `{INSTALL}`.") from error
    if folder.exists() and not (folder.is_dir() and _may_be_replaced(folder)):
        raise CheckpointError(
            f"{folder} exists and is no model that was exported as ONNX; choose another folder."
        )
    content = network_graph(_graph_weights(model)).SerializeToString()
    with updated_folder(folder, _FILES) as scratch:
        (scratch / NETWORK).write_bytes(content)
        model.vocabulary_.save(scratch / VOCABULARY)
        write_classes(map(str, model.classes_), scratch / CLASSES)
        write_json(_settings(model, content), scratch / SETTINGS)


def onnx_archive(model: TrainedModel) -> bytes:
    """The folder as a zip file; raises ConfigError as `export_onnx`."""
    archive = io.BytesIO()
    with TemporaryDirectory() as scratch:
        export_onnx(model, Path(scratch) / "model")
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
            for name in _FILES:
                file.write(Path(scratch) / "model" / name, name)
    return archive.getvalue()


def largest_differences(
    model: TrainedModel, exported: OnnxClassifier, texts: Sequence[str]
) -> tuple[float, float]:
    """The largest differences of scores and of shares between a model and its export."""
    norms = exported.class_norms(texts)
    of_scores = float(np.abs(norms - model.class_norms(texts)).max(initial=0))
    of_shares = 0.0
    for account, explanation in zip(model.account(texts), exported.explain(texts), strict=True):
        difference = np.abs(account.by_class() - explanation.shares)
        of_shares = max(of_shares, float(difference.max(initial=0)))
    return of_scores, of_shares


def _may_be_replaced(folder: Path) -> bool:
    """Whether a folder is empty or holds an export."""
    return (folder / NETWORK).is_file() or not any(folder.iterdir())


def _settings(model: TrainedModel, network: bytes) -> dict[str, Any]:
    """What `onnx_runner` reads beside the network."""
    thresholds, vocabulary = model.network_.thresholds, model.vocabulary_
    classes = [str(name) for name in model.classes_]
    return {
        "format_version": FORMAT_VERSION,
        "network_sha256": hashlib.sha256(network).hexdigest(),
        "model": dataclasses.asdict(model.network_.config),
        "words": {"vector_words": vocabulary.vector_words, "backs_off": vocabulary.backs_off},
        "inverse_temperature": model.inverse_temperature_,
        "thresholds": None if thresholds is None else thresholds.to_dict(),
        "neutral_words": [
            {
                "ids": [vocabulary.id(word) for word in edit.words],
                "classes": [n for n, name in enumerate(classes) if edit.target in (None, name)],
            }
            for edit in model.edits_
            if edit.words
        ],
    }


def _graph_weights(model: TrainedModel) -> GraphWeights:
    """The weights of a network without an activation."""
    from icaps.portable.onnx_graph import GraphWeights

    network, edits = model.network_, model.network_.edits
    config, attention, capsules = network.config, network.attention, network.capsules
    neutral = None if edits is None else edits.capsules
    queries = values = None
    if isinstance(attention, HierarchicalAttention):
        queries = _array(attention.sentence_queries().T)
        values = _array(attention.sentence_value_weight)
    vectors, vector_of_word = distinct_vectors(network)
    matrix = word_matrix(network)
    matrix[: config.fixed_dim] *= VECTOR_STEP
    trained, rows = network.trained_embedding.weight, network.trained_rows
    own = torch.arange(len(trained), device=rows.device)
    zeros = len(trained)  # the row of a word without a trained part
    weights = GraphWeights(
        vectors=vectors,
        vector_of_word=vector_of_word,
        trained=_array(torch.cat([trained, trained.new_zeros(1, trained.shape[1])])),
        trained_of_word=torch.cat([own, rows.where(rows >= 0, zeros)]).cpu().numpy(),
        word_matrix=matrix.astype(np.float32),
        value_bias=_array((attention.value_weight @ network.region.bias).T),
        sentence_queries=queries,
        sentence_values=values,
        capsule_weight=_array(capsules.capsule_weight),
        capsule_bias=_array(capsules.capsule_bias),
        capsule_mask=_array(capsule_mask(network, model.muted_)),
        capsules_count=None if neutral is None else neutral.astype(np.float32),
        taps=config.kernel_size,
        routing_iterations=capsules.iterations,
        vote_scale=capsules.vote_scale,
        squash_primary=config.squash_primary,
        independent=config.routing == INDEPENDENT,
        has_edits=edits is not None,
        has_neutral_words=any(edit.words for edit in model.edits_),
    )
    arrays = (value for value in vars(weights).values() if isinstance(value, np.ndarray))
    if (size := sum(array.nbytes for array in arrays)) > _MAX_BYTES:
        raise ConfigError(
            f"The network has {size / 1e9:.1f} GB, and a file of ONNX has at most "
            f"{_MAX_BYTES / 1e9:.0f}; train one with fewer words."
        )
    return weights


def _array(weights: Tensor) -> NDArray[np.float32]:
    return weights.detach().float().cpu().numpy()
