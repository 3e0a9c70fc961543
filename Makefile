# Everything happens in .venv, which is made on demand: Python 3.11 or newer, pip and make are all that is needed.

BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

ifneq ($(wildcard ../shared/data),)
export ONEPASS_DATA ?= $(abspath ../shared/data)
endif

# Tests start many processes, each of which would have to read the source anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup run test test-slow test-translate lint format bench reproduce docs coverage clean

setup: .venv/dev

run: .venv/plot
	@$(BIN)/onepass demo

# Compiling takes longer than all else: every learner is under contract without the compiler, where NumPy warns of numbers out of range
# and machine code does not, and one of each kind of state compiled.
test: .venv/dev
	@NUMBA_DISABLE_JIT=1 $(BIN)/pytest -q -n auto -m 'plain and not slow' -W ignore::RuntimeWarning
	@$(BIN)/pytest -q -n auto

# Machine code stays in the process that loaded it: of two runs, the processes of the second grew to 11 GB each.
CONTRACT := tests/test_contract.py
test-slow: .venv/dev
	@$(BIN)/pytest -q -n auto -m 'slow' --ignore $(CONTRACT)
	@$(BIN)/pytest -q -n auto -m 'slow or plain and not compiled' $(CONTRACT)
	@$(BIN)/pytest -q -n auto -m 'plain and not compiled and not slow' --ignore $(CONTRACT)

# PyTorch is large, and nobody else needs it. Where it is installed already, `make test` runs these as well.
test-translate: .venv/dev .venv/test-translate
	@$(BIN)/pytest -q -m '' tests/translate src/onepass/translate

lint: .venv/dev
	@$(BIN)/ruff check --quiet
	@$(BIN)/ruff format --check --quiet
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/lint-imports --no-logo > .venv/lint-imports.log || { cat .venv/lint-imports.log; exit 1; }

format: .venv/dev
	@$(BIN)/ruff check --quiet --fix
	@$(BIN)/ruff format --quiet

bench: .venv/bench
	@$(BIN)/python -m benchmarks

reproduce: .venv/plot
	@$(BIN)/onepass reproduce all --out docs/reproduced

docs: .venv/plot
	@$(BIN)/python docs/tables/classes.py
	@$(BIN)/python docs/figures/structured.py

# Kernels are plain Python without Numba, and only so can their lines be counted.
coverage: .venv/dev
	@NUMBA_DISABLE_JIT=1 $(BIN)/coverage run --source=src/onepass -m pytest -q -m 'not slow'
	@$(BIN)/coverage report --skip-covered

clean:
	@rm -rf .venv .coverage .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache build dist demo.png
	@find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

# One stamp for each set of extras: installed again only when pyproject.toml has changed.
.venv/dev .venv/plot .venv/bench .venv/test-translate: .venv/%: pyproject.toml | $(BIN)/python
	@echo "installing onepass[$*] into .venv"
	@$(PIP) --editable ".[$*]"
	@touch $@

$(BIN)/python:
	@for python in $(PYTHON) python3 python3.13 python3.12 python3.11; do \
	    if $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2> /dev/null; then \
	        $$python -m venv .venv || { rm -rf .venv; exit 1; }; \
	        exit 0; \
	    fi; \
	done; \
	echo "onepass needs Python 3.11 or newer, and none was found; say make PYTHON=/path/to/python3" >&2; \
	exit 1
