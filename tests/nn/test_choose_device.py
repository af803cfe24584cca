from icaps.nn.device import choose_device


def test_a_named_device_and_the_best_one() -> None:
    assert choose_device("cpu").type == "cpu"
    assert choose_device("auto").type in ("cpu", "cuda", "mps")
