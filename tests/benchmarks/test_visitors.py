"""What benchmarks/visitors.py takes for right; it itself runs for minutes."""

import random
from collections import Counter
from pathlib import Path

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from benchmarks.app import Session
from benchmarks.visitors import Judge, alike, memory_of_soak
from dashboard.widgets.shaded_text import account_card
from icaps.results import Explanation
from tests.coroutines import finish


@pytest.fixture
def judge(model_folder: Path) -> Judge:
    return Judge(model_folder)


def test_numbers_may_differ_in_their_last_digits() -> None:
    assert alike("<td>0.249<td>3", "<td>0.251<td>3")
    assert not alike("<td>0.249<td>3", "<td>0.249<td>4")
    assert not alike("<td>0.249 oil", "<td>0.249 gold")


def test_the_answer_to_another_text_is_wrong(judge: Judge) -> None:
    rng = random.Random(3)
    text, other = judge.text(rng), judge.text(rng)
    (found,) = judge.classifier.explain([text], ranking="account")
    assert judge.agrees(text, page(found))
    assert not judge.agrees(other, page(found))
    assert not judge.agrees(text, page(found)[:2])  # without its evidence
    assert not judge.agrees(text, page(found)[1:])  # without its class


def page(found: Explanation) -> list[str]:
    evidence = f'<div class="evidence">{found.evidence_html()}</div>'
    return [f'<p class="verdict" style="">{found.predicted}</p>', account_card(found), evidence]


def test_growth_is_of_the_quarters_means() -> None:
    samples = [(0, 500.0), (10, 520.0), (50, 900.0), (80, 540.0), (100, 542.0)]
    told = memory_of_soak(samples)
    assert told["growth_from_first_to_last_quarter_mb"] == 31.0
    assert told["memory_mb_by_requests"] == {10: 520, 50: 900, 80: 540, 100: 542}


class Wire:
    """What a server says, and what it was told."""

    def __init__(self, *answers: ForwardMsg) -> None:
        self.answers = [answer.SerializeToString() for answer in answers]
        self.told: list[BackMsg] = []

    async def send(self, message: bytes) -> None:
        self.told.append(BackMsg.FromString(message))

    async def recv(self, *, decode: bool) -> bytes:
        return self.answers.pop(0)


def message(kind: str, **values: str) -> ForwardMsg:
    answer = ForwardMsg()
    element = getattr(answer.delta.new_element, kind)
    for name, value in values.items():
        setattr(element, name, value)
    return answer


def test_a_session_waits_for_the_end_of_the_run_and_keeps_what_it_showed() -> None:
    begun, early, done = ForwardMsg(), ForwardMsg(), ForwardMsg()
    begun.new_session.name = "Home.py"
    early.script_finished = ForwardMsg.FINISHED_EARLY_FOR_RERUN
    done.script_finished = ForwardMsg.FINISHED_SUCCESSFULLY
    old, new = message("html", body="old"), message("html", body="new")
    failed = message("exception", type="KeyError", message="x")
    box = message("text_area", id="box-1", label="Your text")
    wire = Wire(begun, box, done, begun, old, early, begun, new, failed, done)
    errors: Counter[str] = Counter()
    session = Session(wire, "model=m", errors)
    finish(session.run())
    finish(session.write("Your text", "oil"))
    assert session.html == ["new"]
    assert errors == {"KeyError: x": 1}
    assert wire.answers == []
    (widget,) = wire.told[1].rerun_script.widget_states.widgets
    assert (widget.id, widget.string_value) == ("box-1", "oil")
    assert wire.told[1].rerun_script.query_string == "model=m"
