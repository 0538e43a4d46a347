# Every target below works in .venv, which it creates and fills when needed; nothing else on the machine is
# touched, except by `make proofs`, which needs Coq and asks the system's package manager for it. A run that
# finds everything installed uses no network. `make help` lists the targets.

unexport PYTHONDONTWRITEBYTECODE  # or each of the programs that tests start compiles the package again
VENV := .venv
BIN := $(VENV)/bin
PIP := PIP_ROOT_USER_ACTION=ignore $(BIN)/python -m pip --disable-pip-version-check
PYTEST_FLAGS ?=

# The first interpreter that runs and is new enough; `make PYTHON=/path/to/python` overrides it.
PYTHON ?= $(shell for p in python3.11 python3 python3.12 python3.13 python3.14; do \
    "$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$p" && break; done)

# An environment whose interpreter is gone, or which was made for a checkout elsewhere, is made anew:
# an editable installation would otherwise run the other checkout's code.
ifneq ($(shell cat $(VENV)/created 2>/dev/null),$(CURDIR))
STALE := FORCE
else ifeq ($(wildcard $(BIN)/python),)
STALE := FORCE
endif

.DEFAULT_GOAL := help
.PHONY: certify audit test test-long golden golden-record kinds mutants figures expansions pages docs peers lint bench bench-individual proofs \
    verify.pyz verify-page cross-check mutant-check regime-check clean help FORCE

certify: $(VENV)/installed  ## certify the example claims; succeeds if each gets its recorded verdict
	$(BIN)/python examples/certify_claims.py

audit: $(VENV)/installed-report  ## the same claims anew: their record, docs/audit.md, pages in build/audit (minutes)
	$(BIN)/python examples/certify_claims.py --record
	$(BIN)/python examples/audit_page.py
	$(BIN)/verified-dp certify build/audit/certificates/*.json --html build/audit/index.html --methods contour \
	    --max-seconds 1 || test $$? -eq 1  # 1: some are refuted

test: $(VENV)/installed-test  ## run the tests, in two processes
	$(BIN)/python -m pytest -n 2 --dist worksteal $(PYTEST_FLAGS)

test-long: $(VENV)/installed-test  ## run the longer checks; coqchk too, where the proofs are compiled
	$(BIN)/python -m pytest -m long $(PYTEST_FLAGS)

golden: $(VENV)/installed-test  ## all golden certificates: valid, and each witness gives the same ends
	$(BIN)/python tests/golden.py

kinds: $(VENV)/installed-test  ## write the part of the certificate's schema and the list in spec.py that follow from the kinds
	$(BIN)/python tests/kinds.py

golden-record: audit  ## write the golden certificates anew, and print what differs
	$(BIN)/python tests/golden.py --record build/audit/certificates

mutants: $(VENV)/installed-test  ## random mutants of core: which do the tests miss? (hours; goes on where it stopped)
	mkdir -p build
	$(BIN)/python tests/mutation.py --count 300 --seed 1 --modules verified_dp/core

expansions: $(VENV)/installed  ## widths, rates, and intervals of 300 random compositions anew, into docs/expansions.md
	$(BIN)/python examples/expansion_tables.py --record docs/expansions.md

figures: $(VENV)/installed-figures  ## draw the five papers' figures into build/figures (minutes; goes on where it stopped)
	$(BIN)/python examples/paper_figures.py build/figures

pages: $(VENV)/installed-pages verify-page docs  ## open pages in headless Chromium (the system's: apt-get install chromium)
	$(BIN)/python -m pytest -m pages tests/report tests/verifiers tests/test_site.py $(PYTEST_FLAGS)

docs: $(VENV)/installed-docs  ## the documentation as a site, build/site; a warning is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet

peers: $(VENV)/installed-peers  ## other libraries, pinned: their numbers, and the accountants that fit into them
	$(BIN)/python -m pytest -m "not long" tests/peers tests/interop $(PYTEST_FLAGS)

lint: $(VENV)/installed-lint  ## ruff, and mypy on the package
	$(BIN)/python -m ruff check .
	$(BIN)/python -m mypy

bench: $(VENV)/installed-bench  ## times beside other accountants, docs/benchmark.md (half an hour; goes on where it stopped)
	$(BIN)/python tests/benchmarks/bench.py --page docs/benchmark.md $(BENCH_FLAGS)

bench-individual: $(VENV)/installed-test  ## individual losses of 10^6 records (minutes, 8 GB)
	mkdir -p build
	$(BIN)/python tests/benchmarks/individual.py 1000000 --check 1000 --plot build/individual_cost.png

verify.pyz:  ## the independent checker as one file, build/verify.pyz: runs with any Python >= 3.11 and mpmath
	@test -n '$(PYTHON)' || { echo 'Python 3.11 or newer is needed: make PYTHON=/path/to/python' >&2; exit 1; }
	'$(PYTHON)' verified_dp/verifiers/independent/pack.py build/verify.pyz

verify-page: $(VENV)/created  ## the page that verifies certificates in a browser: build/verify.html (fetches 16 MB, once)
	$(BIN)/python verified_dp/verifiers/browser/build.py build/verify.html build/parts proofs/coq/build/formal-checker.js

cross-check: $(VENV)/installed-test  ## all verifiers on the example claims and 1000 random specifications (hours; goes on)
	$(BIN)/python tests/cross_check.py --count 1000 --seed 1

mutant-check: $(VENV)/installed-test  ## altered certificates, 500 per engine: is a false one accepted? (hours; goes on)
	$(BIN)/python tests/mutant_check.py --count 500 --seed 1

regime-check: $(VENV)/installed-test  ## hard random specifications and lists by every route: do all meet? (hours; goes on)
	$(BIN)/python tests/regime_check.py --count 40 --seed 1
	$(BIN)/python tests/list_check.py --count 60 --seed 1

proofs:  ## check the Coq proofs, list their axioms, build the formal checker (installs Coq where it may)
	@test -n '$(PYTHON)' || { echo 'Python 3.11 or newer is needed: make PYTHON=/path/to/python' >&2; exit 1; }
	'$(PYTHON)' proofs/coq/build.py

clean:  ## remove the environment and everything generated
	rm -rf $(VENV) build dist proofs/coq/build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

help:  ## this list
	@sed -n 's/^\([a-z.-]*\):.*##  *\(.*\)/  make \1|\2/p' Makefile | awk -F'|' '{ printf "%-18s %s\n", $$1, $$2 }'

$(VENV)/created: $(STALE)
	@test -n '$(PYTHON)' || { echo 'Python 3.11 or newer is needed: make PYTHON=/path/to/python' >&2; exit 1; }
	@'$(PYTHON)' -m venv --clear $(VENV) || '$(PYTHON)' -m virtualenv --clear $(VENV) || \
	    { echo 'cannot create a virtual environment: install python3-venv or virtualenv' >&2; exit 1; }
	@echo '$(CURDIR)' > $@

$(VENV)/installed: $(VENV)/created pyproject.toml
	$(PIP) install --quiet --editable .
	@touch $@

$(VENV)/installed-%: $(VENV)/created pyproject.toml
	$(PIP) install --quiet --editable '.[$*]'
	@touch $@ $(VENV)/installed
