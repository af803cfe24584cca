"""Any class names that `fit` accepts survive save and load."""

from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from icaps.errors import DataError
from icaps.train.checkpoint import LABEL_TYPES, label_type
from icaps.train.checkpoint_files import read_classes, write_classes
from icaps.train.labels import encode_labels

LABELS = st.one_of(
    st.lists(st.text(max_size=6), min_size=2, max_size=6, unique=True),
    st.lists(st.text(alphabet=" \ufeff\u200b\x85\u2028\x0b\x1c\0\r\na1", max_size=4), min_size=2),
    st.lists(st.integers(-(2**40), 2**40), min_size=2, max_size=6, unique=True),
    st.lists(st.floats(-10, 10).map(round), min_size=2, max_size=6),
    st.just([True, False]),
)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(labels=LABELS)
@example(labels=["\ufeffa", "\ufeffb"])
@example(labels=["a\x85", "a\u2028"])
def test_names_that_are_accepted_are_read_back(labels: list[object], tmp_path: Path) -> None:
    try:
        classes, numbers = encode_labels(["x"] * len(labels), labels)
    except DataError:
        return
    write_classes(map(str, classes), tmp_path / "classes.txt")
    names = read_classes(tmp_path / "classes.txt")
    loaded = [LABEL_TYPES[label_type(classes)](name) for name in names]
    assert loaded == classes.tolist()
    assert [type(label) for label in loaded] == [type(label) for label in classes.tolist()]
    assert np.array(loaded, dtype=object)[numbers].tolist() == labels
