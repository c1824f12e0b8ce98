# `make demo`, `make test` and `make test-all` set everything up themselves, in .venv beside this file.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test test-all lint bench docs clean

demo: .venv/.run-ready
	$(BIN)/cobic demo

# As many processes as there are cores; the tests of a file stay in one, so that what its fixtures solve is solved once.
PYTEST := $(BIN)/python -m pytest --numprocesses logical --dist loadfile
SLOW := browser or disk or long or memory or processes or real_data or resume or rivals or site

# What is quick, with an eighth of the random examples.
test: .venv/.dev-ready
	HYPOTHESIS_PROFILE=quick $(PYTEST) -m "not ($(SLOW))"

# Everything.
test-all: .venv/.dev-ready
	$(PYTEST)

lint: .venv/.dev-ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# All measurements take more than an hour, make bench ARGS=--quick a few minutes.
bench: .venv/.bench-ready
	$(BIN)/python -m benchmarks $(ARGS)

# The site, in docs/_build/html: a warning is an error, the gallery is run.
docs: .venv/.docs-ready
	$(BIN)/python -m sphinx -b html -W --keep-going -q docs docs/_build/html

clean:
	rm -rf .venv dist docs/_build docs/auto_gallery docs/reference/generated .pytest_cache .mypy_cache .ruff_cache .hypothesis

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/.run-ready: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

.venv/.bench-ready: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	touch $@ .venv/.run-ready

.venv/.docs-ready: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	touch $@ .venv/.run-ready

.venv/.dev-ready: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[dev,docs]'
	touch $@ .venv/.run-ready
