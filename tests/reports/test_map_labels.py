"""Labels of a map do not overlap."""

import numpy as np

from icaps.reports.map_labels import CHARACTER, LINE, Label, overlaps, place_labels


def test_a_label_is_above_its_dot() -> None:
    labels = place_labels(np.array([[100.0, 100.0]]), np.array([5.0]), ["abcd"], [0], 300)
    assert labels == [Label("abcd", 0.0, -12.0)]


def test_the_next_finds_another_place() -> None:
    """Three dots beside each other: the label of the first is above, and so on."""
    points = np.array([[100.0, 100.0], [110.0, 100.0], [140.0, 100.0]])
    labels = place_labels(points, np.full(3, 4.0), ["abcdefgh"] * 3, [0, 1, 2], 300)
    assert [label.dy for label in labels[:2]] == [-11.0, 11.0]
    assert labels[2] == Label("abcdefgh", round(4 + 4 * CHARACTER + 3, 1), 0.0)


def test_without_room_there_is_none_but_for_the_first() -> None:
    points, radii = np.array([[5.0, 50.0], [8.0, 50.0]]), np.full(2, 30.0)
    labels = place_labels(points, radii, ["first", "second"], [1, 0], 20)
    assert labels[1].text == "second"
    assert labels[0] == Label("", 0.0, 0.0)


def test_none_overlaps() -> None:
    random = np.random.default_rng(0)
    points = random.random((60, 2)) * (500, 400)
    radii = random.random(60) * 12
    texts = ["x" * int(n) for n in random.integers(1, 22, 60)]
    labels = place_labels(points, radii, texts, list(range(60)), 500)
    boxes = []
    for point, label in zip(points, labels, strict=True):
        if label.text:
            x, y = point + (label.dx, label.dy)
            half = CHARACTER * len(label.text) / 2
            boxes.append((x - half + 0.1, y - LINE / 2 + 0.1, x + half - 0.1, y + LINE / 2 - 0.1))
    assert len(boxes) > 20
    for n, box in enumerate(boxes[1:], start=1):
        assert not overlaps(box, np.delete(np.array(boxes), n, axis=0))
        assert box[0] >= 0
        assert box[2] <= 500
