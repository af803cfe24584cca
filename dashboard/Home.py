"""The dashboard's entry: `streamlit run dashboard/Home.py`, from any folder.

Streamlit imports this file once to serve `app`, and runs it as a script for each visitor.
"""
# ruff: noqa: N999 (Streamlit names the page by its file)

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

import streamlit as st  # noqa: E402

from dashboard import server  # noqa: E402

if __name__ == "__main__":
    st.set_page_config(page_title="iCaps", layout="wide")
    server.show_start()
    from dashboard import auth, link_notes, logs, nav, selection, url_state
    from dashboard.train import job_bars, launcher
    from dashboard.widgets import background_task, layout

    # Not before, as Streamlit imports numpy for it.
    st.set_page_config(page_icon=ROOT / "dashboard" / "icon.svg")
    layout.load_style()
    passed = auth.passed()
    page = nav.build(hidden=not passed)
    if passed:
        url_state.restore()
        with logs.timed(nav.name_of(page)):
            with st.sidebar:
                selection.show_bar()
            notes = st.container()
            page.run()
            with notes:
                link_notes.show(nav.name_of(page))
            bars = st.sidebar.container()
            launcher.show()
            with bars:  # after the form: if it refuses a name, its training is in the bars
                job_bars.show()
            with st.sidebar:
                background_task.notify_of_ended()
                layout.correct_streamlit()
else:
    app = st.App(__file__, **server.options())  # Streamlit reads this line for `st.App(`
