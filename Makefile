# Set-up and the common commands. `make quickstart` and `make test` need nothing but Python 3.11 to 3.13 and make.
PYTHON ?= python3
VENV ?= .venv
# Where pip finds torch: empty for your registry's default build (on Linux a CUDA one), or the index of a build of your
# choice (see README, "Choosing a torch build").
TORCH_INDEX ?=
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: quickstart test test-slow lint types imports wheel check clean

quickstart: $(READY)
	$(BIN)/dictsent run quickstart

test: $(READY)
	$(BIN)/pytest -n auto

test-slow: $(READY)
	$(BIN)/pytest -n auto -m "slow or not slow"

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

imports: $(READY)
	$(BIN)/lint-imports

wheel: $(READY)
	rm -rf dist
	$(BIN)/python -m build --wheel --outdir dist .

check: lint types imports test

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX)) --constraint constraints.txt torch
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) dist build
