PYTHON ?= python3
BIN := .venv/bin
APP := .venv/app-installed
DEV := .venv/dev-installed
BENCH := .venv/bench-installed

.PHONY: setup run test bench lint

setup: $(DEV)

run: $(APP)
	$(BIN)/streamlit run dashboard/Home.py

test: $(DEV)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder

bench: $(BENCH)
	$(BIN)/python -m benchmarks.training $(ARGS)
	$(BIN)/python -m benchmarks.explaining $(ARGS)
	$(BIN)/python -m benchmarks.predicting $(ARGS)
	$(BIN)/python -m benchmarks.scaling $(ARGS)
	$(BIN)/python -m benchmarks.peaks $(ARGS)
	$(BIN)/python -m benchmarks.starting $(ARGS)
	$(BIN)/python -m benchmarks.reading $(ARGS)

lint: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

$(APP): requirements.txt pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet -r requirements.txt
	$(BIN)/pip install --quiet --no-deps --editable .
	touch $@

$(DEV): $(APP) requirements-dev.txt
	$(BIN)/pip install --quiet -r requirements-dev.txt
	touch $@

$(BENCH): $(DEV) requirements-bench.txt
	$(BIN)/pip install --quiet -r requirements-bench.txt
	touch $@
