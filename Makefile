# The two commands to start with:
#   make demo    set up, then train, evaluate and tag on the embedded data set (core dependencies only); make demo-page
#                then opens the page on that model
#   make test    set up, then run every test
# PYTHON=python3.12 picks another interpreter.

PYTHON ?= python3
VENV   := .venv
CORE   := .venv-core
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check -q
# This package itself, where it lies; warnings of the C++ compiler are errors.
SELF   := $(PIP) install --no-build-isolation --config-settings=cmake.define.XTRELLIS_WERROR=ON
NATIVE := $(shell find native -name '*.cpp' -o -name '*.hpp' -o -name '*.inc')

.PHONY: demo demo-page test annif-env chromium core-only lint types asan tsan arm attack docs build clean bench bench-quick bench-growth bench-all bench-peers

demo: $(VENV)/core
	$(BIN)/xtrellis demo
	@echo "From here: make demo-page opens the page on this model"

# The same model, and its page in a browser; what the server needs is installed if it is not there.
demo-page: $(VENV)/core
	@$(BIN)/python -c 'import uvicorn, uvloop, httptools, msgspec' 2> /dev/null || $(SELF) -e '.[serve]'
	$(BIN)/xtrellis demo --serve

# The browser's tests in a process of their own: Playwright runs on greenlets, after which Python 3.11 cannot always show the
# source of what another test expects to fail ("AST constructor recursion depth mismatch").
test: $(VENV)/test asan core-only annif-env chromium
	$(BIN)/python -m pytest --ignore=tests/browser -n auto --maxprocesses=4 --dist=loadfile
	$(BIN)/python -m pytest tests/browser

# The real Annif, in an environment of its own: its http backend asks our server, and our backend runs in it. The wheel is
# the one that core-only makes.
ANNIF := .venv-annif
annif-env: $(ANNIF)/done
$(ANNIF)/annif:
	$(PYTHON) -m venv $(ANNIF)
	$(ANNIF)/bin/python -m pip --disable-pip-version-check -q install annif==1.4.3 annif-client
	@touch $@
$(ANNIF)/done: $(ANNIF)/annif $(CORE)/done
	$(ANNIF)/bin/python -m pip --disable-pip-version-check -q install --force-reinstall --no-deps build/wheel/*.whl
	$(ANNIF)/bin/python -m pip --disable-pip-version-check -q install build/wheel/*.whl
	@touch $@

# A browser for tests/browser: the one that is there, or Debian's where it may be installed.
chromium:
	@command -v chromium chromium-browser google-chrome > /dev/null || \
	  (test "$$(id -u)" = 0 && apt-get update -qq > /dev/null 2>&1 && apt-get install -y -qq chromium > /dev/null 2>&1) || \
	  echo "There is no Chromium, and it may not be installed here: the page is not tested. As root: apt-get install chromium"

lint: $(VENV)/lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror $(filter-out native/text/unicode_tables.inc,$(NATIVE))

types: $(VENV)/lint
	$(BIN)/mypy

# Kernels under AddressSanitizer and UndefinedBehaviorSanitizer.
asan: $(VENV)/tools
	@mkdir -p build
	$(BIN)/cmake -S . -B build/asan -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja) -DCMAKE_BUILD_TYPE=Debug -DXTRELLIS_WERROR=ON > build/asan.log 2>&1 || (cat build/asan.log; exit 1)
	$(BIN)/cmake --build build/asan
	$(BIN)/ctest --test-dir build/asan --output-on-failure

# The kernels of a neural training on several threads, under ThreadSanitizer.
tsan: $(VENV)/tools
	@mkdir -p build
	$(BIN)/cmake -S . -B build/tsan -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja) -DCMAKE_BUILD_TYPE=Debug -DXTRELLIS_WERROR=ON \
	  -DXTRELLIS_SANITIZERS=thread > build/tsan.log 2>&1 || (cat build/tsan.log; exit 1)
	$(BIN)/cmake --build build/tsan
	$(BIN)/ctest --test-dir build/tsan --output-on-failure

# The kernels for 64-bit ARM (NEON): cross-compiled, and their tests run under qemu's emulation; compiled only where there
# is no emulator, and nothing at all, in so many words, where there is no compiler.
ARM := aarch64-linux-gnu
arm: $(VENV)/tools
	@command -v $(ARM)-g++ > /dev/null && command -v qemu-aarch64 > /dev/null || \
	  (test "$$(id -u)" = 0 && apt-get update -qq > /dev/null 2>&1 && apt-get install -y -qq g++-$(ARM) qemu-user > /dev/null 2>&1) || true
	@mkdir -p build
	@if ! command -v $(ARM)-g++ > /dev/null; then \
	  echo "There is no $(ARM)-g++, and it may not be installed here: nothing was compiled for ARM. As root: apt-get install g++-$(ARM) qemu-user"; \
	else \
	  $(BIN)/cmake -S . -B build/arm -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja) -DCMAKE_BUILD_TYPE=Release -DXTRELLIS_WERROR=ON \
	    -DXTRELLIS_SANITIZE=OFF -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_CXX_COMPILER=$(ARM)-g++ \
	    "-DCMAKE_CROSSCOMPILING_EMULATOR=qemu-aarch64;-L;/usr/$(ARM)" > build/arm.log 2>&1 || (cat build/arm.log; exit 1); \
	  $(BIN)/cmake --build build/arm || exit 1; \
	  if command -v qemu-aarch64 > /dev/null; then $(BIN)/ctest --test-dir build/arm --output-on-failure; \
	  else echo "There is no qemu-aarch64: compiled for ARM, but its tests were not run. As root: apt-get install qemu-user"; fi; \
	fi

# Damaged files and models, odd calls, threads, interrupts, kills, sanitizers; then the page that tells what came out.
ATTACK_SECONDS ?= 120
ATTACK_SEED ?= 0
attack: $(VENV)/test
	$(BIN)/python -m attacks --seconds $(ATTACK_SECONDS) --seed $(ATTACK_SEED)

# The documentation, into build/site; warnings are errors. The variable silences the theme's advertisement.
docs: $(VENV)/docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "build/site/index.html is the first page; search needs: $(BIN)/python -m http.server -d build/site"

# With the core dependencies alone: the wheel, in an environment of its own.
core-only: $(CORE)/done
	$(CORE)/bin/python -m pytest -q -c tests/core_only/pytest.ini tests/core_only/check_core_only.py

$(CORE)/done: $(VENV)/core $(shell find src -name '*.py')
	rm -rf build/wheel && $(PIP) wheel --no-build-isolation --no-deps -w build/wheel .
	test -d $(CORE) || $(PYTHON) -m venv $(CORE)
	$(CORE)/bin/python -m pip --disable-pip-version-check -q install --force-reinstall --no-deps build/wheel/*.whl
	$(CORE)/bin/python -m pip --disable-pip-version-check -q install build/wheel/*.whl pytest
	@touch $@

# The working tree against any commit, in about five minutes: make bench-quick BEFORE=HEAD~1. The commit is built once, into
# build/quick. TURNS=5 for less chance.
BEFORE ?= HEAD
TURNS ?= 3
bench-quick: $(VENV)/bench
	$(BIN)/python benchmarks/quick.py --before $(BEFORE) --turns $(TURNS)

build: $(VENV)/core

# Stamps: each is remade only when what it was made from has changed.
$(VENV)/tools:
	$(PYTHON) -m venv $(VENV)
	$(PIP) install 'scikit-build-core>=0.11' 'nanobind>=2.8' cmake ninja
	@mkdir -p build && touch $@

$(VENV)/core: $(VENV)/tools pyproject.toml CMakeLists.txt $(NATIVE)
	$(SELF) -e .
	@touch $@

# torch first, by this version: its CPU build. Left to choose, pip may fetch several GB for GPUs.
$(VENV)/test: $(VENV)/core
	$(PIP) install torch==2.13.0
	$(SELF) -e '.[test,deep]'
	@touch $@

$(VENV)/bench: $(VENV)/core
	$(SELF) -e '.[bench]'
	@touch $@

$(VENV)/docs: $(VENV)/core
	$(SELF) -e '.[docs]'
	@touch $@

$(VENV)/lint: $(VENV)/core
	$(SELF) -e '.[lint]'
	@touch $@

# The peers that benchmarks/compare.py measures, in an environment of their own: they need NumPy 1. torch comes first,
# because libpecos asks for any version of it.
PEERS := .venv-peers
bench-peers: $(PEERS)/done
$(PEERS)/done:
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python -m pip --disable-pip-version-check -q install torch==2.13.0
	$(PEERS)/bin/python -m pip --disable-pip-version-check -q install 'numpy<2' 'setuptools<81' libpecos omikuji napkinxc fasttext
	$(PEERS)/bin/python -m pip --disable-pip-version-check -q install fastapi uvicorn
	@touch $@

# Side by side with the peers, then the page that shows it.
bench: $(VENV)/bench $(PEERS)/done
	$(BIN)/python benchmarks/compare.py
	$(BIN)/python benchmarks/report.py

# How cost grows, beside PECOS and omikuji, then the page with its curves. MINUTES says when no further size is begun.
MINUTES ?= 35
bench-growth: $(VENV)/bench $(PEERS)/done
	$(BIN)/python benchmarks/growth.py --minutes $(MINUTES)
	$(BIN)/python benchmarks/report.py

# Every measurement there is, the parts and a million labels included: hours. The data is what XTRELLIS_DATA names.
bench-all: bench bench-growth
	$(BIN)/python benchmarks/parse.py
	$(BIN)/python benchmarks/vectorize.py
	$(BIN)/python benchmarks/metrics.py
	$(BIN)/python benchmarks/store.py
	$(BIN)/python benchmarks/trees.py
	$(BIN)/python benchmarks/storage.py
	$(BIN)/python benchmarks/softmax.py
	$(BIN)/python benchmarks/pecos_parity.py
	$(BIN)/python benchmarks/texts.py
	$(BIN)/python benchmarks/composites.py
	$(BIN)/python benchmarks/roofline.py
	$(BIN)/python benchmarks/counts.py
	$(BIN)/python benchmarks/million.py
	$(BIN)/python benchmarks/report.py

clean:
	rm -rf build $(VENV) $(CORE) $(ANNIF) .mypy_cache .ruff_cache .pytest_cache
