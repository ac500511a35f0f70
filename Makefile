# The two commands to start with:
#   make demo    set up, then train, evaluate and tag on the embedded data set (core dependencies only)
#   make test    set up, then run every test
# PYTHON=python3.12 picks another interpreter.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check -q
NATIVE := $(shell find native -name '*.cpp' -o -name '*.hpp' -o -name '*.inc')

.PHONY: demo test lint types asan build clean bench bench-all bench-peers

demo: $(VENV)/core
	$(BIN)/xtrellis demo

test: $(VENV)/test asan
	$(BIN)/python -m pytest

lint: $(VENV)/lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/lint
	$(BIN)/mypy

# Kernels under AddressSanitizer and UndefinedBehaviorSanitizer.
asan: $(VENV)/tools
	@mkdir -p build
	$(BIN)/cmake -S . -B build/asan -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja) -DCMAKE_BUILD_TYPE=Debug > build/asan.log 2>&1 || (cat build/asan.log; exit 1)
	$(BIN)/cmake --build build/asan
	$(BIN)/ctest --test-dir build/asan --output-on-failure

build: $(VENV)/core

# Stamps: each is remade only when what it was made from has changed.
$(VENV)/tools:
	$(PYTHON) -m venv $(VENV)
	$(PIP) install 'scikit-build-core>=0.11' 'nanobind>=2.8' cmake ninja
	@mkdir -p build && touch $@

$(VENV)/core: $(VENV)/tools pyproject.toml CMakeLists.txt $(NATIVE)
	$(PIP) install --no-build-isolation -e .
	@touch $@

# torch first, by this version: its CPU build. Left to choose, pip may fetch several GB for GPUs.
$(VENV)/test: $(VENV)/core
	$(PIP) install torch==2.13.0
	$(PIP) install --no-build-isolation -e '.[test,deep]'
	@touch $@

$(VENV)/bench: $(VENV)/core
	$(PIP) install --no-build-isolation -e '.[bench]'
	@touch $@

$(VENV)/lint: $(VENV)/core
	$(PIP) install --no-build-isolation -e '.[lint]'
	@touch $@

# The peers that benchmarks/compare.py measures, in an environment of their own: they need NumPy 1. torch comes first,
# because libpecos asks for any version of it.
PEERS := .venv-peers
bench-peers: $(PEERS)/done
$(PEERS)/done:
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python -m pip --disable-pip-version-check -q install torch==2.13.0
	$(PEERS)/bin/python -m pip --disable-pip-version-check -q install 'numpy<2' 'setuptools<81' libpecos omikuji napkinxc fasttext
	@touch $@

# Side by side with the peers, then the page that shows it.
bench: $(VENV)/bench $(PEERS)/done
	$(BIN)/python benchmarks/compare.py
	$(BIN)/python benchmarks/scaling.py
	$(BIN)/python benchmarks/report.py

# Every measurement there is, the parts and a million labels included: hours. The data is what XTRELLIS_DATA names.
bench-all: bench
	$(BIN)/python benchmarks/parse.py
	$(BIN)/python benchmarks/vectorize.py
	$(BIN)/python benchmarks/metrics.py
	$(BIN)/python benchmarks/store.py
	$(BIN)/python benchmarks/trees.py
	$(BIN)/python benchmarks/storage.py
	$(BIN)/python benchmarks/softmax.py
	$(BIN)/python benchmarks/pecos_parity.py
	$(BIN)/python benchmarks/million.py
	$(BIN)/python benchmarks/report.py

clean:
	rm -rf build $(VENV) .mypy_cache .ruff_cache .pytest_cache
