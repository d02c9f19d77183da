# make demo        summarises three RFCs of the test split with the shipped model (a minute)
# make quickstart  trains a small model on the bundled RFCs, summarises others, prints ROUGE (about 8 minutes)
# make test        lint, types, import rule, and the fast tests (at most 5 minutes)
# make test-all    lint, types, import rule, and all tests, with more examples of hypothesis
# make torture     the figures of docs/reliability.md, with thousands of damaged files and kills (hours; ID=B1 for one)
# make browser-test  tests of the HTML pages in Chromium, which Debian's packages install (two minutes)
# make docs        the documentation as an offline site in site/
# make dist        wheel and source archive in dist/, as an index takes them
# make image       container image of the wheel, sumpool:cpu or sumpool:DEVICE (needs Docker)
# All create .venv first if it is missing or out of date. Variables:
#   SET="train.steps=20 train.learning_rate=1e-3"   settings of the quickstart's recipe to change
#   RUN=runs/mine                                   another folder for the quickstart's run
#   SCALE=0.1                                       factor of the counts of `make torture`
#   TORCH_INDEX=https://pypi.org/simple             package index of PyTorch in an image, by default that for CPUs
#   PYTHON=python3.12                               the Python (3.11 or newer) that .venv is created with

RUN ?= runs/quickstart
SET ?=
ID ?=
SCALE ?= 1
DEVICE ?= cpu
CANDIDATES := python3 python3.14 python3.13 python3.12 python3.11
PYTHON ?= $(shell for python in $(CANDIDATES); do \
	$$python -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt --editable

.PHONY: demo quickstart test test-all fast-tests all-tests torture browser-test lint docs dist image clean

demo: .venv/installed
	$(BIN)/sumpool prepare quickstart
	$(BIN)/sumpool summarize prepared/sample/test/texts.jsonl --limit 3 --model shipped

quickstart: .venv/installed
	$(BIN)/sumpool train quickstart --out $(RUN) $(addprefix --set ,$(SET))
	$(BIN)/sumpool summarize prepared/sample/test/texts.jsonl --limit 3 --model $(RUN)
	$(BIN)/sumpool evaluate $(RUN) --split validation --resume

# The tests of a file run in one process, because they share fixtures. Processes under test start from bytecode, as
# those of an installed package do.
unexport PYTHONDONTWRITEBYTECODE
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses auto --dist loadfile --no-loadscope-reorder --durations 10

# The checks of types, which take one core, run beside the tests.
test: .venv/installed-dev
	@$(MAKE) --no-print-directory --jobs 2 lint fast-tests

test-all: .venv/installed-dev
	@$(MAKE) --no-print-directory --jobs 2 lint all-tests

fast-tests: .venv/installed-dev
	$(PYTEST)

all-tests: .venv/installed-dev
	$(PYTEST) --slow

torture: lint
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.torture $(ID) --scale $(SCALE)

# Skipped where chromium is missing and cannot be installed.
browser-test: .venv/installed-browser
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest --slow -rs tests/browser

lint: .venv/installed-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

docs: .venv/installed-docs
	$(BIN)/python docs/scripts/recipe_reference.py > docs/recipes.md
	$(BIN)/zensical build --clean --strict
	@echo "open site/index.html"

dist: .venv/installed-dev
	rm -rf dist
	$(BIN)/python -m build --outdir dist
	$(BIN)/twine check --strict dist/*

# The folder of the wheel is all that the image is built from.
image: dist
	cp constraints.txt dist
	docker build --file recipes/cluster/Dockerfile --tag sumpool:$(DEVICE) --build-arg TORCH_INDEX dist

clean:
	rm -rf .venv dist site

.venv/python:
	@test -n "$(PYTHON)" || { echo "error: Python 3.11 or newer must be installed, found none of: $(CANDIDATES)"; exit 1; }
	@echo "creating .venv with $(PYTHON)"
	@$(PYTHON) -m venv --clear .venv
	@touch $@

COMPILED := .ci/hatch_build.py sumpool/core/nn/kernels.cpp

.venv/installed: .venv/python pyproject.toml constraints.txt $(COMPILED)
	@echo "installing sumpool into .venv (with PyTorch about a gigabyte: this takes a few minutes)"
	@$(PIP) '.[torch]'
	@touch $@

.venv/installed-dev: .venv/python pyproject.toml constraints.txt $(COMPILED)
	@echo "installing sumpool and its development tools into .venv (with PyTorch about a gigabyte: a few minutes)"
	@$(PIP) '.[dev]'
	@touch $@ .venv/installed

# The browser of the distribution, selenium, and axe-core (MPL-2.0), which is no part of the package.
.venv/installed-browser: .venv/installed-dev
	@command -v chromedriver >/dev/null || apt-get install -y --no-install-recommends chromium chromium-driver || \
		echo "chromium and chromedriver are missing: apt-get install chromium chromium-driver"
	@$(PIP) '.[browser]'
	@mkdir -p .venv/axe-core && cd .venv/axe-core && npm pack --silent axe-core@4 >/dev/null && tar -xzf axe-core-*.tgz || \
		echo "axe-core is missing: npm pack axe-core"
	@touch $@

.venv/installed-docs: .venv/python pyproject.toml constraints.txt
	@$(PIP) '.[docs]'
	@touch $@
