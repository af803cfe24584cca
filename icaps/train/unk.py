"""Makes `<unk>` neutral, so that masking a word acts like removing it: ours, not the paper's.

Whether an explanation is faithful is tested by removing its words and predicting what is left. A
word that is replaced by `<unk>` is not gone: the vector of `<unk>` is attended to and votes. Word
dropout brings it into training, but never as many of it as in a text where everything but the
explanation is masked (Hase, Xie and Bansal 2021, "The out-of-distribution problem in
explainability"). So after the training this one vector is changed until a text with masked words
gets the norms of the text without these words. No other weight changes, and no label is used.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import torch

from icaps.config import TrainConfig
from icaps.model import ICapsNet
from icaps.nn import distributed
from icaps.nn.dropout import dropped_words
from icaps.text.batch import UNK
from icaps.text.vectors import in_whole_steps
from icaps.train.dataset import Corpus

_RATE = 0.05  # learning rate of Adam, which decays linearly to 0


def fit_unk(network: ICapsNet, corpus: Corpus, config: TrainConfig) -> None:
    """Fits both parts of the embedding of `<unk>` on `unk_steps` batches of texts.

    A random share of the words of each sentence is masked, but never all of them. The loss is the
    squared difference between the class norms of the masked text and those of the text without
    these words, summed over classes. The same seed and texts give the same vector; all processes
    take the same steps.

    Args:
        network: Trained, in eval mode; changed in place.
        corpus: Texts that it was trained on.
        config: Gives the seed, the number of steps and the size of a batch.
    """
    device = network.fixed_embedding.device
    tables = {
        "fixed_embedding": network.fixed_embedding,
        "trained_embedding.weight": network.trained_embedding.weight.detach(),
    }
    unk = {name: table[UNK].clone().requires_grad_() for name, table in tables.items()}
    optimizer = torch.optim.Adam(unk.values(), lr=_RATE)
    random = torch.Generator().manual_seed(config.seed)
    order = torch.randperm(len(corpus), generator=random).numpy()
    size = -(-config.batch_size // config.accumulate)
    for step in range(config.unk_steps):
        optimizer.param_groups[0]["lr"] = _RATE * (1 - step / config.unk_steps)
        numbers = order.take(range(step * size, (step + 1) * size), mode="wrap")
        tokens = corpus.select(numbers).tokens()
        lengths = torch.from_numpy(tokens.words_per_sentence)
        shares = torch.rand(len(lengths), generator=random)
        masked = dropped_words(lengths, shares, random).numpy()
        with torch.no_grad():
            wanted = network(tokens.without(masked)).class_norms
        # Of the batch's own words alone, as the tables are large.
        words, ids = np.unique(np.where(masked, UNK, tokens.ids), return_inverse=True)
        moved = torch.from_numpy(words == UNK)[:, None].to(device)
        own = torch.from_numpy(words).to(device)
        rows = {name: torch.where(moved, unk[name], table[own]) for name, table in tables.items()}
        renumbered = dataclasses.replace(tokens, ids=ids)
        found = torch.func.functional_call(network, rows, (renumbered,)).class_norms
        loss = (found - wanted).square().sum(1).mean()
        for vector, gradient in zip(
            unk.values(), torch.autograd.grad(loss, list(unk.values())), strict=True
        ):
            vector.grad = gradient
        optimizer.step()
    fixed, trained = (vector.detach() for vector in unk.values())
    network.fixed_embedding[UNK] = torch.from_numpy(in_whole_steps(fixed.cpu().numpy()))
    tables["trained_embedding.weight"][UNK] = trained
    distributed.broadcast(tables.values())
