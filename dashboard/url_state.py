"""The state of the pages in their address (URL): links, reload, Back and Forward restore it.

Streamlit's own `bind="query-params"` is not enough: with it a widget replaces the address without
an entry in the browser's history, so that Back leaves the app; and a link cannot set a widget that
a page has in common with the previous one.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlencode

import streamlit as st

from dashboard import link_notes, settings
from dashboard.example_texts import EXAMPLES
from icaps.config import ACCOUNT, ExplainOptions
from icaps.html import printable
from icaps.interpret.projection import METHODS
from icaps.interpret.queries import PERPLEXITY, SPACES
from icaps.interpret.tables import ORDERS, VALUES
from icaps.reports.charts import SELECTED

HASH_DIGITS = 8  # of the weights' hash in an address
MAX_LINK = 2_000  # characters of a text in an address
MAX_PATTERN = 300  # characters of a search for rows in an address
PREDICTED = "the predicted class"
EVERY = "every class"
NO_CAPSULE = -1
MAX_CAPSULE = 9_999
BOUNDS = {"k1": (1, 8), "k2": (1, 5), "sentences": (1, 5)}
THRESHOLDS = (0, 100)  # per cent
COUNTS, SHARES = "counts", "shares of the class"  # in the cells of a confusion matrix
SIZES = (500, 2_000, 10_000, 50_000)  # texts on which models are compared
SHORTCUT_SIZES = ("1,000", "2,000", "5,000", "10,000")  # texts on which shortcuts are measured
BY_SHARE, BY_KGRAMS = "words", "K-grams"  # what is shaded on Evaluate, Shortcuts and Compare
CARD_LIMITS = (0, 50, 200, 500)  # texts for the faithfulness in a model card
SHADINGS = EVERY_WORD, KGRAMS, CONTRAST = "words", "kgrams", "contrast"  # of the text on Explain
WORD_MEASURES = BY_SCORE, BY_COUNT = "share", "count"  # by which words of a capsule are ordered
CAPSULE_TABS = ("Words", "K-grams", "Typical texts", "Your text", "Switched off")
CLASS_ORDERS = ("class", "capsules", "texts", "name")  # of the rows of C
TRAIN_VIEWS = NEW_TRAINING, TRAININGS = "New training", "Trainings"
LABEL_VIEWS = LABELLING, NEW_TASK = "Label", "New task"
TRAIN_TABS = ("Curves", "Reasons", "Settings", "Log")
DATA_TABS = ("Overview", "Words", "Rows", "Repeats", "Map", "Corrections")
COMPARE_TABS = (
    "Scores",
    "Disagreements",
    "Same class, other reasons",
    "Capsules matched",
    "Speed and size",
    "Published",
)
DATASET_PLACE = "datasets"  # key prefix of the data picker of most pages
LABEL_PLACE = "label"  # of the form of a new task of labelling
LAUNCH_PLACE = "launch"  # of the form that starts a training
LAUNCH_LIKE = "launch like"  # name of the training whose settings that form takes over
LAUNCH_MASKED = "launch masked"  # its masked words
COMPARE_PLACE = "compare"  # key prefix of the data picker of Compare

# The session state in the address of each page.
EXPLAIN = ("text", "model", "weights", "target", "k1", "k2", "sentences", "ranking", "shading")
MANY = ("lines", "model", "weights", "target", "k1", "k2", "sentences", "ranking")
MANY_OF_FILE = ("data", "model", "weights", "target", "k1", "k2", "sentences", "ranking")
CAPSULES = (
    "model",
    "weights",
    "capsule",
    "cell_class",
    "cell_value",
    "columns",
    "class_order",
    "class_search",
    "capsule_tab",
    "words_by",
)
QUERIES = ("model", "weights", "capsule", "space", "method", "perplexity", "map_seed")
LABEL = ("task", "label_view", "order", "order capsule", "order words")
LABEL_NEW = ("label_view",)
TRAIN = ("run", "beside", "train_view", "train_tabs")
DATASETS = ("data", "model", "data_tabs", "rows words", "rows regex")
COMPARE = ("compared", "data", "part", "compare size", "compare_tab", "shaded")
SHORTCUTS = ("data", "model", "weights", "part", "looked_at", "finding", "shaded")
EVALUATE = (
    "data",
    "model",
    "weights",
    "part",
    "evaluate_tab",
    "actual",
    "taken",
    "threshold",
    "other",
    "cells show",
    "shaded",
    "card limit",
)
_MARKS = {
    "model",
    "run",
    "data",
    "compared",
    "train_view",
    "task",
    "label_view",
}  # each address that a page publishes has one of them


class Parameter(NamedTuple):
    """A value of the session state that an address can hold."""

    default: Any
    read: Callable[[str], Any]  # from the address; None if it is not valid
    write: Callable[[Any], str] = str
    always: bool = False  # also in the address, and in the session state, as its default


def _text(default: str = "") -> Parameter:
    return Parameter(
        default, lambda text: printable(text)[: settings.current().text_characters], always=True
    )


def _pattern() -> Parameter:
    return Parameter("", lambda text: printable(text)[:MAX_PATTERN])


def _one_of(options: Sequence[Any], default: Any = None, *, always: bool = False) -> Parameter:
    names = {str(option): option for option in options}
    return Parameter(options[0] if default is None else default, names.get, always=always)


def _number(low: int, high: int, default: int) -> Parameter:
    return _one_of(range(low, high + 1), default, always=True)


PARAMETERS = {
    "text": _text(next(iter(EXAMPLES.values()))),
    "lines": _text("\n".join(EXAMPLES.values())),
    "model": _text(),
    "weights": Parameter("", lambda text: text if _HASH.fullmatch(text) else None, always=True),
    "target": _text(PREDICTED),
    "k1": _number(*BOUNDS["k1"], 2),
    "k2": _number(*BOUNDS["k2"], 2),
    "sentences": _number(*BOUNDS["sentences"], 1),
    "ranking": _text(ACCOUNT),
    "shading": _one_of(SHADINGS, EVERY_WORD),
    "capsule": _number(0, MAX_CAPSULE, NO_CAPSULE),
    "cell_class": _text(EVERY),
    "cell_value": _one_of(tuple(VALUES)),
    "columns": _one_of(ORDERS),
    "class_order": _one_of(CLASS_ORDERS),
    "class_search": _pattern(),
    "capsule_tab": _one_of(CAPSULE_TABS),
    "words_by": _one_of(WORD_MEASURES),
    "space": _one_of(SPACES),
    "method": _one_of(METHODS),
    "perplexity": _one_of([float(n) for n in range(1, 51)], PERPLEXITY),
    "map_seed": _one_of(range(10_000)),
    "run": _text(),
    "beside": Parameter([], lambda text: printable(text).split(","), ",".join),
    "train_view": _one_of(TRAIN_VIEWS, TRAININGS),
    "train_tabs": _one_of(TRAIN_TABS),
    "task": _text(),
    "label_view": _one_of(LABEL_VIEWS),
    "order": _text(),
    "order capsule": _one_of(range(MAX_CAPSULE + 1)),
    "order words": _pattern(),
    "data": _text(),
    "data_tabs": _one_of(DATA_TABS),
    "rows words": _pattern(),
    "rows regex": _pattern(),
    "compared": _text(),  # names, separated by commas
    "compare size": _one_of(SIZES, SIZES[1]),
    "compare_tab": _one_of(COMPARE_TABS),
    "part": _text("test"),
    "looked_at": _text(SHORTCUT_SIZES[1]),
    "finding": _text(),
    "evaluate_tab": _text(),
    "actual": _text(),
    "taken": _text(),
    "threshold": _number(*THRESHOLDS, 0),
    "other": _text(),
    "cells show": _one_of((COUNTS, SHARES)),
    "shaded": _one_of((BY_SHARE, BY_KGRAMS)),
    "card limit": _one_of(CARD_LIMITS),
}


_HASH = re.compile(rf"[0-9a-f]{{{HASH_DIGITS}}}|")


def in_address(key: str) -> str:
    """The name of a parameter in an address."""
    return key.replace(" ", "_")


def restore() -> None:
    """Reads the address when the session starts, or when the visitor has changed the address.

    To be called before any widget. An address that differs from the last one published may also be
    late, sent along with the new value of a widget: then the widget counts. An address with
    parameters that the previous page does not publish is a link to another page, whose widgets no
    longer exist.
    """
    state = st.session_state
    address = st.query_params.to_dict()
    if "published" not in state:
        state.published, state.published_names = {}, EXPLAIN
        starts = {name: entry.default for name, entry in PARAMETERS.items() if entry.always}
        state.update(starts | _read(address))
        _begin_notes(address)
    elif (
        address.keys() & _MARKS
        and address != state.published
        and (
            (state.published and not address.keys() <= set(map(in_address, state.published_names)))
            or _address(state.published_names) == state.published
        )
    ):
        entries = {name: PARAMETERS[name] for name in state.published_names}
        defaults = {name: entry.default for name, entry in entries.items() if not entry.always}
        state.update(defaults | _read(address))
        _begin_notes(address)
        state.example = None
    if "started" in state:  # a training, by the launcher, which comes after the widget of `run`
        state.run, state.train_view = state.pop("started"), TRAININGS


def publish(names: Sequence[str]) -> None:
    """Writes these parts of the session state to the address of the page."""
    st.session_state.published, st.session_state.published_names = _address(names), names
    if st.query_params.to_dict() != st.session_state.published:
        st.query_params.from_dict(st.session_state.published)


def publish_data(value: str, names: Sequence[str] = DATASETS) -> None:
    """As `publish`, with the data set that the page shows."""
    st.session_state.data = st.session_state.data_shown = value
    publish(names)


def links_other_data() -> bool:
    """Whether the address names another data set than the one that was shown last."""
    state = st.session_state
    return bool(state.data) and state.data != state.get("data_shown")


def opens_data(page: str) -> bool:
    """Whether a link, or a button of another page, has just opened this page with data."""
    linked = "data" in st.query_params and links_other_data()
    return st.session_state.pop("data opened", "") == page or linked


def link() -> str:
    """The published address, relative to the page."""
    return f"?{urlencode(st.session_state.published)}"


def landing_request() -> tuple[str, ExplainOptions]:
    """The text and options of the landing page without an address."""
    k1, k2, sentences = (PARAMETERS[key].default for key in BOUNDS)
    return PARAMETERS["text"].default, ExplainOptions(None, k1, k2, sentences, ACCOUNT)


def set_default(key: str) -> None:
    """Sets the default of a widget that has no value yet."""
    st.session_state.setdefault(key, PARAMETERS[key].default)


def choose_among(
    key: str, options: Sequence[Any], kind: str = "", instead: Any | None = None
) -> None:
    """Falls back to another option if the current value is not an option.

    Args:
        key: The key of the session state.
        options: The values that it may have.
        kind: What the options are, such as "model", for a note if a link asks for one that is not
            here; none by default.
        instead: The option to fall back to; by default the first one.
    """
    asked = st.session_state[key]
    if asked in options:
        return
    chosen = options[0] if instead is None else instead
    st.session_state[key] = chosen
    if kind:
        link_notes.replaced(key, kind, asked, str(chosen))


def publish_weights(model_name: str, fingerprint: str) -> None:
    """Puts the first digits of the weights' hash in the address; notes if a link had others."""
    state, digits = st.session_state, fingerprint[:HASH_DIGITS]
    asked = link_notes.asks("weights")
    state.weights = digits
    if asked and asked != digits and link_notes.asks("model") == model_name:
        link_notes.changed(
            "weights",
            f"The model {model_name} has changed since this link was made: its weights are "
            f"{digits}, and were {asked}. The results below may differ from those of then.",
        )


def text_fits_link() -> bool:
    """Whether the text is short enough for an address."""
    return not _is_too_long("text")


def forget_example() -> None:
    """Deselects the example, as the visitor has changed the text."""
    st.session_state.example = None


def open_text(text: str) -> None:
    """Makes a text the one that is explained."""
    st.session_state.text, st.session_state.example = text, None
    st.session_state.setdefault("examples shown", [])  # so that it is not taken for an example


def pick_capsule(chart: str) -> None:
    """Selects the cell or capsule that was clicked in a chart."""
    for picked in st.session_state[chart].selection[SELECTED]:
        st.session_state.capsule = picked["capsule"]
        st.session_state.cell_class = picked.get("class", EVERY)


def pick_confusion(chart: str) -> None:
    """Selects the cell that was clicked in a confusion matrix."""
    for picked in st.session_state[chart].selection[SELECTED]:
        st.session_state.actual, st.session_state.taken = picked["class"], picked["predicted"]


def _address(names: Sequence[str]) -> dict[str, str]:
    """The parameters of an address: defaults only where `always`, and no text that is too long."""
    address = {}
    for name in names:
        entry = PARAMETERS[name]
        value = st.session_state.get(name, entry.default)
        if entry.always or value not in (None, entry.default):
            address[in_address(name)] = entry.write(value)
    return {name: value for name, value in address.items() if not _is_too_long(name)}


def _is_too_long(name: str) -> bool:
    return name in ("text", "lines") and len(st.session_state[name]) > MAX_LINK


def _begin_notes(address: dict[str, str]) -> None:
    """What the link asks for is known to the notes, as is what it cannot mean."""
    asked = _read(address)
    link_notes.begin(asked)
    wrong = {in_address(name) for name in PARAMETERS.keys() - asked.keys()} & address.keys()
    link_notes.invalid({name: printable(address[name])[:40] for name in sorted(wrong)})


def _read(address: dict[str, str]) -> dict[str, Any]:
    """The session state in an address; what is not valid is left out."""
    values = {
        name: entry.read(address[in_address(name)])
        for name, entry in PARAMETERS.items()
        if in_address(name) in address
    }
    return {name: value for name, value in values.items() if value is not None}
