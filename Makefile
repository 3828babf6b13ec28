# Two commands are enough: `make demo` and `make test`. Everything else here is for people who work on sgbt.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

.PHONY: help demo test coverage pages docs lint types imports soak campaign bench clean

help:
	@echo "make demo   set up .venv; train, certify and attack two models on real reviews"
	@echo "make test   set up .venv and run every check (style, types, import order, tests)"
	@echo "make coverage  the tests again, with the share of lines they run; they take two thirds longer"
	@echo "make pages  the numbers and tables of the pages, written anew from the rows in results/"
	@echo "make docs   the documentation as a site: site/index.html, which opens from the disk"
	@echo "make soak   the long campaigns: millions of points, random kills, fuzzing, an hour of enumeration"
	@echo "make bench  the benchmarks, as ratios against the plain way"

$(STAMP): pyproject.toml constraints.txt
	@echo "== Setting up $(VENV) (Python 3.11 or newer; a few minutes the first time)"
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(None if v >= (3, 11) else f"expected Python 3.11 or newer, got {v.major}.{v.minor}; install it and run: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)")'
	@$(PYTHON) -m venv $(VENV) || { echo "expected Python's venv module, which is missing; on Debian: apt-get install python3-venv"; exit 2; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

demo: $(STAMP)
	@echo "== Running the demo: sgbt demo"
	@$(BIN)/sgbt demo

WORKERS ?= 3 # on two cores: many tests wait for processes that they start
test: $(STAMP) lint types imports
	@echo "== Running the tests (pytest)"
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not soak"

FLOOR ?= 85
coverage: $(STAMP)
	@echo "== Running the tests with coverage (at least $(FLOOR) % of lines; FLOOR= changes that)"
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not soak" --cov=sgbt --cov-report=term:skip-covered --cov-fail-under=$(FLOOR)

pages: $(STAMP)
	@echo "== Filling the pages from results/"
	@$(BIN)/python -m pages

docs: $(STAMP)
	@echo "== Building the documentation (mkdocs)"
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict
	@echo "open site/index.html"

lint: $(STAMP)
	@echo "== Checking style (ruff)"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: $(STAMP)
	@echo "== Checking types (mypy)"
	@$(BIN)/mypy

imports: $(STAMP)
	@echo "== Checking import order (import-linter)"
	@$(BIN)/lint-imports

soak: $(STAMP)
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 -m soak
	@$(MAKE) --no-print-directory campaign

MINUTES ?= 60
campaign: $(STAMP)
	@echo "== Certificates against enumeration, for $(MINUTES) minutes (counts in .campaign.json; the next one goes on there)"
	@OMP_NUM_THREADS=1 $(BIN)/python -m tests.soundness.campaign --minutes $(MINUTES) --state .campaign.json

bench: $(STAMP)
	@for script in benchmarks/[a-z]*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

clean:
	rm -rf $(VENV) site .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage
