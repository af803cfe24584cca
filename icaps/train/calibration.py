"""Temperature scaling: one factor that turns class norms into probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from torch import Tensor


def fit_inverse_temperature(class_norms: Tensor, labels: NDArray[np.int64]) -> float:
    """The factor a > 0 that maximizes the likelihood of softmax(a norms).

    Guo et al. 2017, section 4.2. Norms are between 0 and 1, so a is searched from 1 to 100.

    Args:
        class_norms: (texts, J).
        labels: (texts,), class numbers.
    """
    norms, targets = class_norms.double(), torch.from_numpy(labels)

    def loss(log_factor: float) -> float:
        return float(torch.nn.functional.cross_entropy(norms * np.exp(log_factor), targets))

    best: Any = minimize_scalar(loss, bounds=(0.0, np.log(100.0)), method="bounded")
    return float(np.exp(best.x))
