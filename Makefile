PYTHON ?= python3
BIN := .venv/bin
APP := .venv/app-installed
DEV := .venv/dev-installed

.PHONY: setup run test bench lint

setup: $(DEV)

run: $(APP)
	$(BIN)/streamlit run dashboard/Home.py

test: $(DEV)
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile

bench: $(DEV)
	$(BIN)/python -m benchmarks.explaining
	$(BIN)/python -m benchmarks.reading

lint: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

$(APP): requirements.txt pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet -r requirements.txt
	$(BIN)/pip install --quiet --no-deps --editable .
	touch $@

$(DEV): $(APP) requirements-dev.txt
	$(BIN)/pip install --quiet -r requirements-dev.txt
	touch $@
