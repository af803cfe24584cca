"""Makes `<unk>` say nothing, so that masking a word takes it out: ours, not the paper's.

Whether a reason is the model's own is asked by taking its words out and looking at what is left.
A word that `<unk>` stands in for isn't out: its vector goes on to be attended to and to vote. Word
dropout brings it into training, but never so much of it as there is where all but the reason is
masked (Hase, Xie and Bansal 2021, "The out-of-distribution problem in explainability"). Here, after
the training, that one vector is moved until a text with some words masked gets the norms of the
same text without them. No other weight changes, and no label is used.
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

_RATE = 0.05  # the largest that Adam gets, which falls in a line to 0


def fit_unk(network: ICapsNet, corpus: Corpus, config: TrainConfig) -> None:
    """Moves both parts of `<unk>`'s embedding by `unk_steps` batches of texts, masked at random.

    A share of a sentence's words, itself random, is masked, and never all of them; the loss is the
    squared difference of the class norms, added up over classes, from those of the text without
    these words. The same seed and texts give the same vector; all processes take the same steps.

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
    distributed.copy_from_first(tables.values())
