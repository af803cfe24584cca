"""What can be done with a training: its model while it learns, and the next steps at its end."""

from contextlib import suppress

import streamlit as st

from dashboard import error_boundary, nav, training_jobs
from dashboard.model_registry import ModelFolder, find_baselines
from dashboard.train import view
from dashboard.url_state import COMPARE_PLACE, DATASET_PLACE
from dashboard.widgets import data_picker
from icaps.data.part_files import has_part
from icaps.data.resolve import resolve
from icaps.errors import ICapsError
from icaps.runs.folder import DONE, LIVE, Run
from icaps.train.parts import HELD_OUT


def show(run: Run) -> None:
    """Links to what comes next: a card at the end, before that to the model as it learns."""
    baseline = run.request is not None and run.request.is_baseline
    if run.status.state != DONE:
        if not baseline and run.has_model:
            _link(run, "explain", "Open in Explain", model=_model_name(run))
            if run.status.state in LIVE:
                st.caption("Its model as it learns: that of the best epoch so far.")
        return
    if not baseline and view.model_of(run) is None:
        return
    with st.container(border=True, key="next_steps"):
        name = error_boundary.plain(run.name)
        st.markdown(f"**{name} is trained.** What next?")
        with st.container(horizontal=True, gap="medium"):
            if baseline:
                _show_steps_of_baseline(run)
            else:
                _show_steps_of_model(run)


def _show_steps_of_model(run: Run) -> None:
    model, data = _model_name(run), _data(run)
    names = [model, *(f"{other.name} (baseline)" for other in _baselines_on(data.get("data", "")))]
    part = _scored_part(data.get("data", ""))
    where = "the held-out texts" if part == HELD_OUT else "the test texts"
    _link(run, "explain", "Open in Explain", model=model)
    _link(run, "capsules", "What its capsules do", model=model)
    _link(run, "evaluate", f"Evaluate on {where}", model=model, part=part, **data)
    _link(run, "compare", "Compare with a baseline", compared=",".join(names), **data)
    _link(run, "datasets", "Its texts in Datasets", model=model, **data)


def _show_steps_of_baseline(run: Run) -> None:
    data = _data(run)
    (name,) = [b.name for b in find_baselines() if b.path == run.path.resolve()] or [run.name]
    models = [
        model
        for other in view.all_runs()
        if (model := view.model_of(other)) is not None and _data(other) == data
    ]
    names = [*(model.name for model in models[:1]), f"{name} (baseline)"]
    part = _scored_part(data.get("data", ""))
    _link(run, "compare", "Compare it with a model", compared=",".join(names), **data)
    if models:
        label = f"Evaluate {models[0].name} on the same texts"
        _link(run, "evaluate", label, model=models[0].name, part=part, **data)
    _link(run, "datasets", "Its texts in Datasets", **data)


def _link(run: Run, page: str, label: str, **address: str) -> None:
    icon = nav.page(page).icon
    parameters = {name: value for name, value in address.items() if value}
    st.page_link(
        nav.page(page), label=error_boundary.plain(label), icon=icon, query_params=parameters
    )


def _model_name(run: Run) -> str:
    model = view.model_of(run)
    return run.name if model is None else model.name


def _data(run: Run) -> dict[str, str]:
    """The data of a training as a parameter of an address; its columns are remembered."""
    with suppress(ICapsError):  # of another version
        found = training_jobs.data_of(run.path)
        if found is not None:
            value, reading = found
            for place in (DATASET_PLACE, COMPARE_PLACE):
                data_picker.remember_reading(place, value, reading)
            return {"data": value}
    return {}


def _scored_part(value: str) -> str:
    """The part to evaluate on: the test split, or else the texts that training held out."""
    with suppress(ICapsError):
        if value and has_part(resolve(value), "test") and resolve(value).is_dir():
            return "test"
    return HELD_OUT


def _baselines_on(value: str) -> list[ModelFolder]:
    """The newest baseline that was trained on this data, if there is one."""
    found = []
    for baseline in find_baselines():
        with suppress(ICapsError):
            data = training_jobs.data_of(baseline.path)
            if data is not None and data[0] == value:
                found.append(baseline)
    return found[:1]
