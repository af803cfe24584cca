"""One plain sentence for each term of the pages, for help texts and for "How to read this"."""

TERMS = {
    "probability": "How sure the model is of a class, calibrated on texts held out from training; "
    "the probabilities of all classes add up to 100%.",
    "norm": "The length of the vector (capsule) that the network computes for a class, from 0 to "
    "1; the class with the largest norm is predicted, and the probabilities follow from the norms.",
    "share": "What a word adds to the norm of the explained class: with a plus it speaks for the "
    "class, with a minus against it, and all shares and the bias add up to the norm.",
    "bias": "What is added to the norm whatever the words are.",
    "capsule": "A part of the network that looks for words of one kind; it is called by its number "
    "and the words that add most through it.",
    "attention": "How much a capsule looks at a word (α), or at a sentence (ρ); over all words of "
    "a sentence it adds up to 1.",
    "routing": "How much of a capsule's vote goes to a class (β); over all classes it adds up to "
    "1.",
    "K-gram": "K neighbouring words that a capsule reads together.",
    "k₁": "How many capsules the K-grams are taken from.",
    "k₂": "How many K-grams are taken from each capsule.",
    "unknown word": "A word that the model has no vector for; it is underlined with dots.",
    "unread word": "A word after the last one that the model reads; it is faint.",
}


_OF_SEVERAL = {  # where a text may have several labels
    "probability": "How sure the model is of a class by itself, calibrated on texts held out from "
    "training; the probabilities of the classes need not add up to 100%.",
    "threshold": "The probability from which a class is predicted, chosen for each class on texts "
    "held out from training; a text may have several classes, or none.",
    "norm": "The length of the vector (capsule) that the network computes for a class, from 0 to "
    "1; the probability of the class follows from it.",
    "routing": "How much of a capsule's vote goes to a class (β).",
}


def terms(multilabel: bool) -> dict[str, str]:
    """What each term means, also where a text may have several labels."""
    if not multilabel:
        return TERMS
    first = {term: _OF_SEVERAL[term] for term in ("probability", "threshold")}
    return first | {term: _OF_SEVERAL.get(term, line) for term, line in TERMS.items()}


def sentence(term: str) -> str:
    """What a term means, one of `TERMS`."""
    return TERMS[term]
