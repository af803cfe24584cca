"""Makes `<unk>` neutral, so that masking a word acts like removing it. It is not in the paper.

Faithfulness of explanations is tested by masking words and predicting again. A word that is
replaced by `<unk>` still has an effect: the vector of `<unk>` gets attention and votes. Training
with word dropout includes `<unk>`, but never as many as in a text where all words but the
explanation are masked (Hase, Xie and Bansal 2021, "The out-of-distribution problem in
explainability"). So after training, this one vector is fitted until a text with masked words gets
the norms of the text without these words. No other weight changes, and no label is used.
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
    these words, summed over classes. It depends on the seed and the texts only, so all processes
    take the same steps.

    Args:
        network: Trained, in eval mode; changed in place.
        corpus: Texts that it was trained on.
        config: Has the seed, the number of steps and the batch size.
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
            targets = network(tokens.without(masked)).class_norms  # (B, J)
        # Embeddings of the batch's distinct words only, as the tables are large.
        words, ids = np.unique(np.where(masked, UNK, tokens.ids), return_inverse=True)
        is_unk = torch.from_numpy(words == UNK)[:, None].to(device)
        with torch.no_grad():
            parts = network.embed_words(torch.from_numpy(words).to(device))
        rows = {
            name: torch.where(is_unk, unk[name], part)
            for name, part in zip(tables, parts, strict=True)
        }
        renumbered = dataclasses.replace(tokens, ids=ids)
        norms = torch.func.functional_call(network, rows, (renumbered,)).class_norms  # (B, J)
        loss = (norms - targets).square().sum(1).mean()
        for vector, gradient in zip(
            unk.values(), torch.autograd.grad(loss, list(unk.values())), strict=True
        ):
            vector.grad = gradient
        optimizer.step()
    fixed, trained = (vector.detach() for vector in unk.values())
    network.fixed_embedding[UNK] = torch.from_numpy(in_whole_steps(fixed.cpu().numpy()))
    tables["trained_embedding.weight"][UNK] = trained
    distributed.broadcast(tables.values())
