"""Attention times gradient as word scores (Serrano and Smith 2019)."""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.nn.functional as F

from icaps.faithfulness.attributions.attention import Scores, spread_over_windows
from icaps.faithfulness.attributions.target_norms import (
    neutral_embeddings,
    neutral_words,
    target_norms,
)
from icaps.faithfulness.texts import ExplainedTexts
from icaps.nn.packing import lay_out


def attention_gradient(texts: ExplainedTexts) -> Iterator[Scores]:
    """The sum over capsules of alpha^i_n times the gradient of the class norm with respect to it.

    Attention is treated as a free variable. A word that an edit makes neutral has 0.
    """
    network = texts.network
    for reading, target in texts:
        tokens, ids = reading.tokens, network.word_ids(reading.tokens)
        layout = lay_out(tokens.words_per_sentence, network.config.kernel_size, ids.device)
        attention, neutral = network.attention, neutral_words(network, tokens, target)
        with torch.no_grad():
            cells = network.embed_regions(ids, layout)
            embeddings, alpha = attention.embed_sentences(cells, layout)
            added = [layout.gather_words(cells)]  # (words, d_w)
            if neutral is not None:
                table = F.pad(network.project_words(ids), (0, 0, 0, 0, 0, 1))
                table[F.pad(torch.from_numpy(~neutral), (0, 1))] = 0
                of_neutral = network.region(table, torch.arange(len(ids)), layout)
                added.append(layout.gather_words(of_neutral) - network.region.bias)
        inputs = [embeddings.requires_grad_()]  # (sentences, I, d_p) each
        if neutral is not None:
            embedded = neutral_embeddings(network, alpha, added[1], tokens.words_per_sentence)
            inputs.append(embedded.detach().requires_grad_())
        with torch.enable_grad():
            attended = attention.join_sentences(embeddings, alpha, tokens.sentences_per_text)
            norms = target_norms(
                texts,
                attended,
                inputs[1] if neutral is not None else None,
                tokens.sentences_per_text,
                torch.tensor([target]),
            )
            gradients = torch.autograd.grad(norms.sum(), inputs)
        lengths = torch.from_numpy(tokens.words_per_sentence).to(ids.device)
        slopes = alpha.new_zeros(alpha.shape)  # (words, I)
        for gradient, regions in zip(gradients, added, strict=True):
            towards = torch.einsum("sip,ipw->siw", gradient, attention.value_weight.detach())
            towards = towards.repeat_interleave(lengths, 0)  # (words, I, d_w)
            slopes = slopes + torch.einsum("nw,niw->ni", regions, towards)
        weights = (slopes * alpha).sum(1).cpu().numpy()
        scores = spread_over_windows(weights, tokens.words_per_sentence, network.config.kernel_size)
        yield scores if neutral is None else scores * ~neutral
