"""Shows trainings: state, curves, explanations by epoch, settings, log and a table of all."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
import streamlit as st

from dashboard import error_boundary
from dashboard.model_registry import ModelFolder, find_models, model_in, runs_folder
from dashboard.train import charts, job_bars
from dashboard.training_jobs import capsule_warning_of, command_line, is_snapshot
from dashboard.widgets import chart_card, downloads, result_warnings
from dashboard.widgets.shaded_text import account_card, kgram_card, text_card
from icaps.cli.formatting import duration
from icaps.cli.request import TrainRequest, read_arguments
from icaps.errors import ICapsError, RunError
from icaps.html import printable
from icaps.reports.charts import class_colors
from icaps.results import Explanation
from icaps.runs.folder import FAILED, PROGRESS, SNAPSHOTS, Run, RunFolder, find_runs
from icaps.text.vectors import list_sources
from icaps.train.checkpoint_files import CONFIG, HISTORY, METRICS
from icaps.train.result_warnings import CHANCE, COLLAPSE, FEW, warnings_of

POLL = 2.0  # seconds between two reads of the trainings that are shown
_EXAMPLE = "ag_news"  # the model whose training is shown while there is none of one's own
_SHADINGS = ("Every word", "K-grams")  # of the watched text


def show_how_to_start() -> None:
    """What to do if there is no training yet."""
    st.header("There is no training yet", anchor=False)
    st.write("Open *New training* above, or *Train a model* in the sidebar.")


def show_example() -> None:
    """What a training looks like: how a model that comes with the app was trained."""
    shipped = [model for model in find_models() if model.shipped]
    if not shipped:
        return
    model = next((model for model in shipped if model.name == _EXAMPLE), shipped[0])
    records = RunFolder(model.path).records(HISTORY)
    metrics = _read_object(model.path / METRICS)
    facts = metrics if isinstance(metrics, dict) else {}
    if not records:
        return
    st.header(f"How the model {model.name} was trained", anchor=False)
    st.caption(error_boundary.plain(_describe_example(records, facts)))
    for name, curve in charts.EXAMPLE.items():
        table = charts.curve_table({model.name: records}, curve)
        if table.empty:
            continue

        def draw(ink: str, table=table, curve=curve) -> alt.LayerChart:
            return charts.draw(table, curve, [model.name], ink)

        chart_card.show(draw, table, f"example-{name}", f"{curve.title} over the epochs")


def _describe_example(records: Sequence[Mapping[str, Any]], metrics: Mapping[str, Any]) -> str:
    """Texts, epochs, time and scores of the training of a model; metrics are free-form."""
    parts = [f"{len(records)} epochs"]
    match metrics:
        case {"training_texts": int(texts)}:
            parts.insert(0, f"{texts:,} texts")
    seconds = [record.get("seconds") for record in records]
    if all(isinstance(value, float) for value in seconds):
        parts.append(duration(sum(seconds)))
    match metrics:
        case {"test": {"accuracy": float(accuracy)}}:
            parts.append(f"{accuracy:.1%} of the test texts right")
    return f"{', '.join(parts)}. Your own training is shown like this while it runs."


def show_now(run: Run) -> None:
    """The state of a training: a sentence, a bar, and its numbers."""
    status = run.status
    sentence = f"{run.name}: {job_bars.describe(status)}."
    if status.error:
        st.error(
            error_boundary.plain(f"{run.name} failed. {status.error}"), icon=":material/error:"
        )
    else:
        st.progress(status.share, error_boundary.plain(sentence))
    speed, rate = status.texts_per_second, status.learning_rate
    rows = (
        ("Loss", None if status.loss is None else f"{status.loss:.4f}"),
        ("Best validation", _share(status.validation_accuracy)),
        ("Best macro F1", _share(status.validation_macro_f1)),
        ("Texts per second", None if speed is None else f"{speed:,.0f}"),
        ("Learning rate", None if rate is None else _two_digits(rate)),
        ("Memory", f"{status.memory / 1e9:.2f} GB" if status.memory else None),
    )
    with st.container(horizontal=True, gap="medium"):
        for label, value in rows:
            if value is not None:
                st.metric(label, value, width=135)


def show_warnings(run: Run) -> None:
    """Whether the training was restarted, and what its result warns of, once it has ended."""
    restarts, status = run.status.restarts, run.status
    if restarts:
        times = "once" if restarts == 1 else f"{restarts} times"
        st.info(
            f"The training had learned nothing, and was restarted {times} with a gentler recipe; "
            "see its log.",
            icon=":material/restart_alt:",
        )
    if run.has_model and not status.live and status.state != FAILED:
        metrics = _read_object(run.path / METRICS)
        warnings = warnings_of(metrics if isinstance(metrics, dict) else {})
        if not {warning.kind for warning in warnings} & {CHANCE, COLLAPSE, FEW}:
            warnings += filter(None, [capsule_warning_of(run.folder)])
        result_warnings.show(warnings)


def model_of(run: Run) -> ModelFolder | None:
    """The current model of a training; None before the end of its first epoch."""
    if not run.has_model:
        return None
    return model_in(run.path)


def show_curves(runs: Sequence[Run]) -> None:
    """The curves of some trainings in the same charts."""
    records = {run.name: run.folder.records(PROGRESS) for run in runs}
    if not any(records.values()):
        if all(run.request is not None and run.request.is_baseline for run in runs):
            st.caption("A baseline is fitted in one step, so there are no curves over epochs.")
        elif any(run.status.live for run in runs):
            st.caption("The curves start with the first step.")
        else:
            st.caption("No curves were recorded.")
        return
    names = list(records)
    tables = {key: charts.curve_table(records, curve) for key, curve in charts.CURVES.items()}
    drawn = [key for key, table in tables.items() if not table.empty]
    places = st.columns(2, gap="medium")
    for n, key in enumerate(drawn):
        table, curve = tables[key], charts.CURVES[key]

        def draw(ink: str, table=table, curve=curve) -> alt.LayerChart:
            return charts.draw(table, curve, names, ink)

        with places[n % 2]:
            chart_card.show(draw, table, f"curve-{key}", f"{curve.title} over the epochs")


def show_learning(run: Run) -> None:
    """How the explanation of one text, and the use of the capsules, change by epoch."""
    snapshots = [part for part in run.folder.records(SNAPSHOTS) if is_snapshot(part)]
    if not snapshots:
        st.caption("These are recorded at the end of each epoch.")
        return
    epochs = [snapshot["epoch"] for snapshot in snapshots]
    explanations = _explanations(snapshots)
    if explanations:
        explained = list(explanations)
        epoch = (
            st.select_slider(
                "Epoch", explained, value=explained[-1], key=f"epoch {run.name} {len(explained)}"
            )
            if len(explained) > 1
            else explained[0]
        )
        explanation = explanations[epoch]
        st.write(error_boundary.plain(f"After epoch {epoch}: {_prediction(explanation)}"))
        _show_watched_text(explanation)
    table = charts.use_table(snapshots)
    colors = class_colors(snapshots[-1]["classes"])
    alive = table[table["share"] >= 0.01].groupby("epoch").size().reindex(epochs, fill_value=0)
    st.caption(
        f"The capsules that win validation texts, by epoch: {alive.iloc[-1]} of "
        f"{table['capsule'].nunique()} win at least 1% after the last epoch, {alive.iloc[0]} after "
        "the first. The more texts a capsule wins, the stronger its colour."
    )

    def draw(ink: str) -> alt.LayerChart:
        return charts.draw_use(table, colors, ink)

    chart_card.show(draw, table, "capsule-use", "Which capsules win texts, by epoch")


def _prediction(explanation: Explanation) -> str:
    """The predicted class with its probability, or all predicted classes of several labels."""
    if not explanation.multilabel:
        return f"{explanation.predicted}, {max(explanation.probabilities):.0%}"
    chances = dict(zip(explanation.classes, explanation.probabilities, strict=True))
    names = [f"{name} ({chances[name]:.0%})" for name in explanation.given_classes]
    return f"{', '.join(names) or 'no class'}; shown is {explanation.target}"


def _show_watched_text(explanation: Explanation) -> None:
    """The watched text after an epoch: every word with its share, or the K-grams."""
    if explanation.blank or explanation.word_account() is None:  # of an older version
        st.html(text_card(explanation))
        return
    shading = st.segmented_control(
        "Shading",
        _SHADINGS,
        default=_SHADINGS[0],
        required=True,
        key="watched shading",
        label_visibility="collapsed",
        persist_state="session",
    )
    card = account_card if shading == _SHADINGS[0] else kgram_card
    st.html(card(explanation))


def show_log(run: Run) -> None:
    """The end of the log of a training, and its command."""
    st.code(run.folder.log_tail() or "The log is empty.", language=None, height=320)
    if run.request is not None:
        st.caption("The command, to run it elsewhere:")
        line = printable(command_line(run.request.arguments))
        st.code(line, language="bash", wrap_lines=True)


def show_settings(runs: Sequence[Run]) -> None:
    """The settings of some trainings side by side."""
    columns = {run.name: _settings(run) for run in runs}
    name = "setting"
    while name in columns:  # a training may have this name
        name += "s"
    table = pd.DataFrame(columns, dtype=object).rename_axis(name).reset_index().fillna("")
    if len(columns) > 1 and st.toggle("Only differences", value=True, key="only_differences"):
        table = table[table[list(columns)].nunique(axis=1) > 1]
        if table.empty:
            st.caption("Their settings are the same.")
            return
    st.dataframe(table, width="stretch", hide_index=True)
    downloads.show_csv(table, "settings")
    for run in runs:
        if reasons := _reasons(run):
            chosen = f"The recipe of {run.name}: " if len(runs) > 1 else "The recipe: "
            st.caption(error_boundary.plain(chosen + " ".join(reasons)))


def show_history(runs: Sequence[Run]) -> None:
    """All trainings as a table, with their size on disk."""
    table = pd.DataFrame([_row(run) for run in runs])
    total = table["MB"].sum()
    count = f"{len(runs)} training{'' if len(runs) == 1 else 's'}"
    st.caption(f"{count} in {runs_folder()}, {total:,.0f} MB on disk.")
    names = ("validation", "validation macro F1", "test", "test macro F1")
    table = table.astype(dict.fromkeys(names, float))  # a column without a score has NaN
    shares = dict.fromkeys(names, st.column_config.NumberColumn(format="percent"))
    st.dataframe(table, width="stretch", hide_index=True, column_config=shares)
    downloads.show_csv(table, "trainings")


def all_runs() -> list[Run]:
    """All trainings, the newest first."""
    return find_runs(runs_folder())


def _row(run: Run) -> dict[str, Any]:
    status = run.status
    began = pd.to_datetime(status.started or None, unit="s", errors="coerce")
    test = _test_scores(run)
    return {
        "name": run.name,
        "state": status.state,
        "data": _data(run),
        "started (UTC)": began,
        "minutes": round(max(status.updated - status.started, 0) / 60, 1)
        if status.started
        else None,
        "epochs": status.epoch,
        "validation": status.validation_accuracy,
        "validation macro F1": status.validation_macro_f1,
        "test": test["accuracy"],
        "test macro F1": test["macro_f1"],
        "MB": round(run.folder.bytes_on_disk() / 1e6, 1),
    }


def _data(run: Run) -> str:
    try:
        return printable(read_arguments(run.request.arguments).data) if run.request else ""
    except RunError:  # of a command of another version
        return ""


def _test_scores(run: Run) -> dict[str, float | None]:
    """Test accuracy and macro F1; None for what its metrics, which are free-form, do not have."""
    metrics = _read_object(run.path / METRICS)
    test = metrics.get("test") if isinstance(metrics, dict) else None
    scores = test if isinstance(test, dict) else {}
    return {
        name: score if isinstance(score := scores.get(name), float) else None
        for name in ("accuracy", "macro_f1")
    }


def _settings(run: Run) -> dict[str, str]:
    if run.request is None:
        return {}
    try:
        if run.request.is_baseline:
            options = read_arguments(run.request.arguments)
            return {"data": printable(options.data), "baseline": options.name}
        request = TrainRequest.from_arguments(run.request.arguments)
        given = [part if isinstance(part, Mapping) else asdict(part) for part in request.given()]
    except ICapsError as error:
        return {"data": printable(str(error))}
    values = {
        "data": request.data,
        "text": ", ".join(request.reading.get("text", ())),
        "label": request.reading.get("label", ""),
        "preset": request.preset or ("the recipe" if _reasons(run) or not run.has_model else ""),
        "given": ", ".join(f"{name}={value}" for name, value in request.settings.items()),
        "vectors": ", ".join(map(str, request.vectors or list_sources(None))),
        **_model_settings(run),
        **given[0],
        **given[1],
    }
    return {name: "" if value is None else printable(str(value)) for name, value in values.items()}


def _model_settings(run: Run) -> dict[str, Any]:
    """All settings of the model of a training; none before its first epoch ends."""
    match _read_object(run.path / CONFIG):
        case {"model": dict(model), "train": dict(train)}:
            return {**model, **train}
    return {}


def _reasons(run: Run) -> list[str]:
    """Why the recipe chose the settings of a training, as sentences."""
    match _read_object(run.path / METRICS):
        case {"recipe": list(reasons)}:
            return [str(reason) for reason in reasons]
    return []


def _read_object(path: Path) -> Any:
    """A JSON file of a model; None if it is missing or damaged."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None


def _explanations(snapshots: Sequence[Mapping[str, Any]]) -> dict[int, Explanation]:
    """The explanations by epoch, those that this version of iCaps can read."""
    explanations = {}
    for snapshot in snapshots:
        if isinstance(snapshot.get("explanation"), dict):
            with suppress(KeyError, TypeError, ValueError, AttributeError):
                explanations[snapshot["epoch"]] = Explanation.from_dict(snapshot["explanation"])
    return explanations


def _two_digits(value: float) -> str:
    """A number with two significant digits, without an exponent."""
    return np.format_float_positional(value, precision=2, fractional=False, trim="-")


def _share(value: float | None) -> str | None:
    return None if value is None else f"{value:.1%}"
