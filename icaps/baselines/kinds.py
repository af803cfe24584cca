"""Which baselines there are, and where each comes from."""

from __future__ import annotations

from typing import NamedTuple

LINEAR, FASTTEXT = "linear", "fasttext"
WORD_CNN, REGION_EMBEDDINGS, CAPSNET = "word-cnn", "region-embeddings", "capsnet"


class Kind(NamedTuple):
    """A baseline: its name in full, and its source."""

    title: str
    source: str


KINDS = {
    LINEAR: Kind(
        "TF-IDF of words and bigrams, linear SVM",
        "Zhang, Zhao and LeCun (2015), n-grams TFIDF",
    ),
    FASTTEXT: Kind("fastText with bigrams", "Joulin et al. (2017)"),
    WORD_CNN: Kind("Convolutions over words", "Kim (2014), CNN-rand"),
    REGION_EMBEDDINGS: Kind("Word-context region embeddings", "Qiao et al. (2018)"),
    CAPSNET: Kind(
        "Capsules of convolutions, routed by agreement",
        "Sabour, Frosst and Hinton (2017), Yang et al. (2018)",
    ),
}
NETWORKS = (WORD_CNN, REGION_EMBEDDINGS, CAPSNET)
