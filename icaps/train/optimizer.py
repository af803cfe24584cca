"""The optimizer: Adam with a learning rate schedule, and the moving average of the weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

import torch
from torch import Tensor
from torch.optim.swa_utils import AveragedModel

from icaps.config import TrainConfig
from icaps.model import ICapsNet
from icaps.nn import distributed


class AveragedAdam:
    """Adam with warm-up and decay, and an exponential moving average of the weights.

    Attributes:
        average: A network with the averaged weights, in eval mode.
        best: The averaged weights of the best epoch, by name; empty until `store_best` is called.
        learning_rate: Of the last step; 0 before the first.
    """

    def __init__(self, network: ICapsNet, config: TrainConfig, steps_per_epoch: int) -> None:
        self._network = network
        self._config = config
        average = _moving_average(config.average_decay)
        self._averaged = AveragedModel(network, multi_avg_fn=average)
        self.average = cast(ICapsNet, self._averaged.module).eval()
        for name, frozen in network.named_buffers():  # shared, as they are never changed
            setattr(self.average, name, frozen)
        self.best: dict[str, Tensor] = {}
        trained = [parameter for parameter in network.parameters() if parameter.requires_grad]
        self._optimizer = torch.optim.Adam(trained, lr=config.learning_rate, fused=True)
        self._optimizer.zero_grad()
        self._rate_share = rate_shares(config, steps_per_epoch)
        self._steps = 0
        self.learning_rate = 0.0

    def step(self) -> None:
        """Sums the gradients over all processes, updates the weights and clears the gradients."""
        distributed.sum_gradients(self._network.parameters())
        if self._config.clip_norm:
            torch.nn.utils.clip_grad_norm_(self._network.parameters(), self._config.clip_norm)
        self.learning_rate = self._config.learning_rate * self._rate_share(self._steps)
        for group in self._optimizer.param_groups:
            group["lr"] = self.learning_rate
        self._optimizer.step()
        self._optimizer.zero_grad()
        self._averaged.update_parameters(self._network)
        self._steps += 1

    def store_best(self) -> None:
        """Stores a copy of the averaged weights as the best."""
        self.best = self.averaged_weights()

    def averaged_weights(self) -> dict[str, Tensor]:
        """A copy of the averaged weights, by name."""
        return {name: value.detach().clone() for name, value in self.average.named_parameters()}

    def state_tensors(self) -> dict[str, Tensor]:
        """The state to save for `restore`, by name."""
        groups: dict[str, Mapping[str, Tensor]] = {
            "network": self._network.state_dict(),
            "average": self._averaged.state_dict(),
            "best": self.best,
        }
        for number, values in self._optimizer.state_dict()["state"].items():
            groups[f"adam.{number}"] = values
        return {
            f"{group}.{name}": value
            for group, values in groups.items()
            for name, value in values.items()
            if name not in self._frozen()
        }

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Restores a state that `state_tensors` returned."""
        device = self._network.fixed_embedding.device
        groups: dict[str, dict[str, Tensor]] = {"network": {}, "average": {}, "best": {}}
        adam: dict[int, dict[str, Tensor]] = {}
        for path, value in tensors.items():
            group, name = path.split(".", 1)
            if group == "adam":
                number, name = name.split(".", 1)
                adam.setdefault(int(number), {})[name] = value
            else:
                groups[group][name] = value
        self._network.load_state_dict(groups["network"])
        self._averaged.load_state_dict(groups["average"] | self._frozen())
        self.best = {name: value.to(device) for name, value in groups["best"].items()}
        settings = self._optimizer.state_dict()["param_groups"]
        self._optimizer.load_state_dict({"state": adam, "param_groups": settings})
        self._steps = int(self._averaged.n_averaged)

    def _frozen(self) -> dict[str, Tensor]:
        """The weights that the average shares with the network, by their names in the average."""
        return {
            name: value
            for name, value in self._averaged.state_dict().items()
            if name.removeprefix("module.") in dict(self._network.named_buffers())
        }


def rate_shares(config: TrainConfig, steps_per_epoch: int) -> Callable[[int], float]:
    """The share of the learning rate for a step (from 0): linear warm-up, then linear decay."""
    total = steps_per_epoch * config.epochs
    warmup = int(config.warmup_share * total)

    def share(step: int) -> float:
        if step < warmup:
            return (step + 1) / (warmup + 1)
        return (total - step) / (total - warmup) if config.decay else 1.0

    return share


def _moving_average(decay: float) -> Callable[[Any, Any, Tensor | int], None]:
    """Exponential moving average; its decay grows to `decay`, to forget initial weights fast."""

    def average(means: Any, current: Any, updates: Tensor | int) -> None:
        share = min(decay, (1 + int(updates)) / (10 + int(updates)))
        torch._foreach_lerp_(means, current, 1 - share)

    return average
