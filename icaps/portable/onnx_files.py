"""The files of an export as ONNX: its settings, and its network in onnxruntime.

    model.onnx       the network; `onnx_graph` describes its inputs and outputs
    vocabulary.txt   a word and its count per line, in the order of ids
    classes.txt      a name per line, in the order of class numbers
    settings.json    settings of the network and of reading texts, calibration, what is neutral

Nothing here imports torch.
"""

from __future__ import annotations

import hashlib
import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from icaps.config import ModelConfig, config_from_dict
from icaps.data.atomic import COPY_AGAIN, read_json
from icaps.errors import CheckpointError, ConfigError
from icaps.nn.thresholds import ClassThresholds

NETWORK, SETTINGS = "model.onnx", "settings.json"
FORMAT_VERSION = 1
INSTALL = "pip install 'icaps[onnx]'"
_OUTPUTS = ["scores", "shares", "bias"]


class Settings(NamedTuple):
    """The settings of an export.

    Attributes:
        network_sha256: Of the file of the network, in hexadecimal.
        config: Of the network.
        vector_words, backs_off: As in `Vocabulary`.
        inverse_temperature, thresholds: As in `TrainedModel`.
        neutral: Consecutive words by their ids, and for which classes they are neutral (J,).
    """

    network_sha256: str
    config: ModelConfig
    vector_words: int
    backs_off: bool
    inverse_temperature: float
    thresholds: ClassThresholds | None
    neutral: list[tuple[tuple[int, ...], NDArray[np.bool_]]]

    @classmethod
    def read(cls, path: Path, classes: int) -> Settings:
        """Reads the file of an export with J classes.

        Raises:
            CheckpointError: It is damaged, or of another version.
        """
        content = read_json(path)
        if content.get("format_version") != FORMAT_VERSION:
            raise CheckpointError(
                f"{path} is not of version {FORMAT_VERSION}, which this iCaps reads; export the "
                "model again."
            )
        try:
            inverse_temperature = float(content["inverse_temperature"])
            if not 0 < inverse_temperature < math.inf:
                raise ValueError(f"inverse_temperature is {inverse_temperature}")
            thresholds, words = content["thresholds"], content["words"]
            return cls(
                str(content["network_sha256"]),
                config_from_dict(ModelConfig, content["model"]),
                int(words["vector_words"]),
                bool(words["backs_off"]),
                inverse_temperature,
                None if thresholds is None else ClassThresholds.from_dict(thresholds, classes),
                [
                    (tuple(map(int, entry["ids"])), np.isin(np.arange(classes), entry["classes"]))
                    for entry in content["neutral_words"]
                ],
            )
        except (KeyError, TypeError, ValueError, OverflowError, ConfigError) as error:
            raise CheckpointError(f"{path} is damaged ({error}). {COPY_AGAIN}") from error


def read_network(path: Path, sha256: str) -> bytes:
    """The file of a network; a damaged one never reaches onnxruntime."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read: {error.strerror}. {COPY_AGAIN}") from error
    if hashlib.sha256(content).hexdigest() != sha256:
        raise CheckpointError(f"{path} is damaged (it has another SHA-256). {COPY_AGAIN}")
    return content


class Session:
    """A network in onnxruntime.

    Args:
        network: The content of its file.
        path: The file, for messages.
        threads: Of a run; None: as onnxruntime chooses.
    """

    def __init__(self, network: bytes, path: Path, threads: int | None) -> None:
        try:
            import onnxruntime
            from onnxruntime.capi import onnxruntime_pybind11_state as errors
        except ImportError as error:
            raise ConfigError(f"To read a model as ONNX run `{INSTALL}`.") from error
        self._path = path
        self._errors = (  # they have no common base
            errors.EPFail,
            errors.Fail,
            errors.InvalidArgument,
            errors.InvalidGraph,
            errors.InvalidProtobuf,
            errors.NoSuchFile,
            errors.NotImplemented,
            errors.RuntimeException,
            ValueError,
        )
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads or 0
        options.log_severity_level = 3  # errors alone; they are raised as well
        try:
            self._session = onnxruntime.InferenceSession(
                network, options, providers=["CPUExecutionProvider"]
            )
            stored = self._session.get_modelmeta().custom_metadata_map
            self.sizes = int(stored["words"]), int(stored["classes"])
        except (KeyError, *self._errors) as error:
            raise self._damaged(error) from error

    def run(self, inputs: dict[str, NDArray[Any]]) -> list[NDArray[Any]]:
        """Scores, shares and bias; raises CheckpointError if the network is not one of ours."""
        try:
            values: list[NDArray[Any]] = self._session.run(_OUTPUTS, inputs)
        except self._errors as error:
            raise self._damaged(error) from error
        return values

    def _damaged(self, error: Exception) -> CheckpointError:
        return CheckpointError(f"{self._path} is damaged ({error}). {COPY_AGAIN}")
