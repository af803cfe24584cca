"""Names of the orders in which texts are labelled, and defaults. Nothing here imports a library."""

from __future__ import annotations

MIXED, UNCERTAIN, DIVERSE, DOUBTED = "mixed", "uncertain", "diverse", "doubted"
CAPSULE, SEARCH, RANDOM = "capsule", "search", "random"
ORDERS = {
    MIXED: "uncertain texts that stand for many others and differ from those labelled",
    UNCERTAIN: "texts of which the model is least sure",
    DIVERSE: "texts that stand for many others and differ from those labelled",
    DOUBTED: "labelled texts whose label is probably wrong",
    CAPSULE: "texts in which one capsule adds most to the predicted class",
    SEARCH: "texts that match a search",
    RANDOM: "texts in random order",
}
DEFAULT = MIXED
HELD_OUT = 100  # texts that are held out, unless another number is given
