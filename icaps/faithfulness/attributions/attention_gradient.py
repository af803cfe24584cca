"""Attention times gradient as word scores (Serrano and Smith 2019)."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from icaps.faithfulness.attributions.attention import Scores, spread_over_windows
from icaps.faithfulness.texts import ExplainedTexts
from icaps.nn.packing import lay_out


def attention_gradient(texts: ExplainedTexts) -> Iterator[Scores]:
    """The sum over capsules of alpha^i_n times the gradient of the class norm with respect to it.

    Attention is treated as a free variable.
    """
    network = texts.network
    for reading, target in texts:
        tokens, ids = reading.tokens, network.word_ids(reading.tokens)
        layout = lay_out(tokens.words_per_sentence, network.config.kernel_size, ids.device)
        attention = network.attention
        with torch.no_grad():
            regions = network.embed_regions(ids, layout)
            embeddings, alpha = attention.embed_sentences(regions, layout)
        with torch.enable_grad():
            embeddings.requires_grad_()  # (sentences, I, d_p)
            attended = attention.join_sentences(embeddings, alpha, tokens.sentences_per_text)
            norm = network.route(attended, texts.capsule_mask).class_norms[0, target]
            (gradient,) = torch.autograd.grad(norm, embeddings)  # (sentences, I, d_p)
        towards = torch.einsum("sip,ipw->siw", gradient, attention.value_weight.detach())
        lengths = torch.from_numpy(tokens.words_per_sentence).to(ids.device)
        towards = towards.repeat_interleave(lengths, 0)  # (words, I, d_w)
        slopes = torch.einsum("nw,niw->ni", layout.gather_words(regions), towards)  # (words, I)
        weights = (slopes * alpha).sum(1).cpu().numpy()
        yield spread_over_windows(weights, tokens.words_per_sentence, network.config.kernel_size)
