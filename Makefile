# Every target makes its own environment in .venv: on a fresh machine `make test` or `make reproduce` is enough.
#
#   PYTHON=python3.12 make install    another interpreter (3.11 or newer)
#   OMP_NUM_THREADS=8 make …          more threads
#   WORKERS=0 make test               tests in one process instead of two
#   ROBOTTESTS=0 make test            without the simulator, whose environment takes minutes and 2.5 GB

PYTHON  ?= python3
VENV    := .venv
BIN     := $(VENV)/bin
STAMP   := $(VENV)/.installed-dev
# All but `robot`, whose numpy is another one (docs/install.md): what is not installed is not tested.
EXTRAS  := atlas,dev,docs,envs,export,learn,ray,sb3,slurm,track
# Exactly this spelling takes the small build where there is one; any other may bring gigabytes of CUDA.
TORCH   := torch==2.13.0
# One per core of the smallest machine we test on; the suite takes 15 to 25 minutes of one core. Each takes one half
# of the tests in their order, and helps the other in the end: fixtures of a file are made once, and so is compiled code.
WORKERS ?= 2
# A process each has one core to itself: more BLAS threads would only get into one another's way.
THREADS := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1
TESTS    = $(THREADS) $(1)/bin/python -m pytest -n $(WORKERS) --dist worksteal --durations=10
PYTEST  := $(call TESTS,$(VENV))

# Explicit thread counts: the same run takes the same resources on a laptop and on a 64-core server.
export OMP_NUM_THREADS      ?= 2
export OPENBLAS_NUM_THREADS ?= 2
export MKL_NUM_THREADS      ?= 2
export NUMBA_NUM_THREADS    ?= 2
# Where an image forbids byte code, every process compiles all it imports again: a command took 4 seconds instead of 1.5,
# and the suite starts hundreds of them.
unexport PYTHONDONTWRITEBYTECODE
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1
# mkdocs-material prints in every build that its support ends on 5 May 2027; its authors name Zensical as successor.
export NO_MKDOCS_2_WARNING := 1
ifneq ($(CI),)
export PIP_PROGRESS_BAR := off
export NO_COLOR := 1
endif

.DEFAULT_GOAL := help

# The simulator needs an older numpy, so it lives in an environment of its own.
ROBOT       := .venv-robot
ROBOTSTAMP  := $(ROBOT)/.installed
ROBOTEXTRAS := learn,robot
ROBOTTESTS  ?= 1

# What a machine must be able to do besides, and the Debian packages that teach it: `.ci/need` tries it and installs only
# what is missing. That a file is there is no answer: a library may lack its driver, a browser may be a stub.
NEED     := .ci/need
DRAW      = $(ROBOT)/bin/python -m burnside.envs.manipulation.opengl
DRAWERS  := libosmesa6; libegl1 libgl1 libgl1-mesa-dri
BROWSE   := $(PYTHON) -P src/burnside/cli/tools.py browser
BROWSERS := chromium
# evdev, which robosuite brings, is compiled on the spot.
COMPILE  := $(PYTHON) -P src/burnside/cli/tools.py compiler
COMPILERS := gcc libc6-dev linux-libc-dev python3-dev

.PHONY: browser licences test-main test-sources test-simulator test-robot help install reproduce test test-all bench pages docs lint format constraints clean check-docs

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

install: $(STAMP) ## make .venv and install Burnside in it, editable, with the pins of constraints.txt

reproduce: $(STAMP) ## run every experiment of the paper at laptop scale; read report/index.html
	$(BIN)/burnside reproduce

# The tests, what looks at the sources only, and the simulator's environment with its tests run side by side: each waits now
# and then, and two cores should not. What is not the main suite writes into a file, which is shown in the end.
test: ## lint, types, the fast tests, the documentation, and the tests of the robot tasks (ROBOTTESTS=0: without)
	@mkdir -p .cache; rm -f $(ASIDE:%=.cache/%.log); \
	$(MAKE) --no-print-directory --keep-going -j3 test-main $(ASIDE); code=$$?; \
	for each in $(ASIDE); do echo "--- make $$each"; cat .cache/$$each.log 2>/dev/null; done; exit $$code

test-main: $(STAMP)
	$(PYTEST)

ASIDE := test-sources $(if $(filter-out 0,$(ROBOTTESTS)),test-simulator)

test-sources: $(STAMP)
	@{ $(MAKE) --no-print-directory lint && $(MAKE) --no-print-directory check-docs; } >.cache/$@.log 2>&1

# One process: the main suite has the cores.
test-simulator:
	@$(MAKE) --no-print-directory test-robot WORKERS=1 >.cache/$@.log 2>&1

test-all: lint ## as test, with the slow tests
	$(PYTEST) -m ""
	@$(MAKE) --no-print-directory check-docs

test-robot: $(ROBOTSTAMP) ## make .venv-robot with the simulator and run the tests of the manipulation tasks
	@$(NEED) '$(DRAWERS)' $(DRAW) || echo "pictures and point clouds do not work here: their tests fail, or are skipped if" \
	  "neither library is installed" >&2
	$(call TESTS,$(ROBOT)) tests/robot

bench: $(STAMP) ## every benchmark, peers included, into benchmarks/RESULTS.md
	$(BIN)/python -m benchmarks

browser: ## make sure that there is a browser that works for the tests of the report: install Debian's chromium if not
	@$(PYTHON_CHECK); $(NEED) '$(BROWSERS)' $(BROWSE) || echo "the tests that need a browser are skipped" >&2

pages: $(STAMP) ## write the tables and figures of docs/experiments again, from results/
	$(BIN)/python -m burnside.report.pages docs

licences: $(STAMP) ## write docs/licences.md again, from the pins
	$(BIN)/python docs/licences.py > .cache-licences.md && mv .cache-licences.md docs/licences.md

docs: $(STAMP) ## build the documentation into site/
	$(BIN)/python -m mkdocs build --strict --site-dir site
	@echo "the documentation is in site/index.html; its search needs a server: $(BIN)/python -m http.server -d site"

lint: $(STAMP) ## ruff, oxlint (the scripts of the report) and mypy, changing nothing
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	$(BIN)/oxlint --deny-warnings src/burnside/report/assets
	$(BIN)/python -m mypy

format: $(STAMP) ## let ruff rewrite what it can
	$(BIN)/python -m ruff check --fix .
	$(BIN)/python -m ruff format .

# Not --quiet: it hides the warnings from --strict too, which then never fails (measured with mkdocs 1.6.1).
check-docs: $(STAMP)
	$(BIN)/python -m mkdocs build --strict --site-dir .cache/site

clean: ## remove what can be rebuilt in seconds; keeps .venv, runs/ and results/
	rm -rf .cache .hypothesis .mypy_cache .pytest_cache .ruff_cache build dist site report
	find src tests benchmarks docs -name __pycache__ -prune -exec rm -rf {} +
	find src tests benchmarks -name '*.nb[ic]' -exec rm -f {} +

# One clear sentence if the interpreter will not do.
define PYTHON_CHECK
$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
  echo "Burnside needs Python 3.11 or newer, and '$(PYTHON)' is missing or older: try 'make PYTHON=python3.12 …'." >&2; exit 1; }; \
$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
  echo "'$(PYTHON)' has no venv module: install it (on Debian or Ubuntu: apt install python3-venv) and run make again." >&2; exit 1; }
endef

# An environment: $(call ENVIRONMENT,folder,stamp,files it is made from,constraints,extras,other packages,a note,first).
# The stamp is written last, when everything that was installed has been imported, so a failed installation is done again;
# and it is believed only while the environment's interpreter runs and finds the code of this folder, which it does not
# when the folder was moved or Python was upgraded. An installation that was killed leaves a file with the id of its shell
# behind: pip may then believe in packages it copied only half, so the environment is made anew. (Process numbers come
# again: that one counts only if it is such a shell.)
# Nothing is byte-compiled: of 20 000 files that takes 80 s of one core, and Python does it for the few that are imported.
# pip is made newer first, where that works: version 26 takes 50 s of one core for what costs version 23 150 s.
define ENVIRONMENT
$(PYTHON_CHECK); \
busy=$(1)/.installing; fresh=yes; \
for file in $(3); do [ $(2) -nt $$file ] || fresh=no; done; \
if [ $$fresh = yes ] && [ ! -f $$busy ]; then \
  if $(1)/bin/python -I -c '$(ALIVE)' 2>/dev/null; then exit 0; fi; \
  echo "$(1) does not work any more (moved, or its Python was replaced): making it anew"; rm -rf $(1); \
fi; \
if [ -f $$busy ] && kill -0 "$$(cat $$busy)" 2>/dev/null && \
  { ! command -v ps >/dev/null || ps -o args= -p "$$(cat $$busy)" | grep -q '[.]installing'; }; then \
  echo "another make is installing into $(1): wait for it, or delete $$busy if there is none." >&2; exit 1; fi; \
if [ -f $$busy ]; then echo "the last installation into $(1) was interrupted: starting afresh"; rm -rf $(1); fi; \
{ $(1)/bin/python -c 'import pip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
  $(PYTHON) -m venv --clear $(1); } && rm -f $(2) $(1)/doctor.txt && echo $$$$ > $$busy && \
echo "installing burnside[$(5)] into $(1) ($(7))" && \
{ $(8) $(1)/bin/python -m pip install --quiet --no-compile --upgrade 'pip>=25' 2>/dev/null || true; \
  $(1)/bin/python -m pip install --quiet --no-compile -c $(4) -e ".[$(5)]" $(6) && \
  $(1)/bin/python -m burnside doctor --need $(subst $(COMMA), ,$(5)) >$(1)/doctor.txt 2>&1 || \
  { cat $(1)/doctor.txt 2>/dev/null; rm -f $$busy; exit 1; }; } && \
touch $(2) && rm -f $$busy
endef
COMMA := ,
ALIVE := import os, sys, numpy, pip, burnside; \
  sys.exit(os.path.realpath(burnside.__file__) != os.path.realpath("src/burnside/__init__.py"))

.PHONY: FORCE
FORCE:

$(STAMP): FORCE
	@$(call ENVIRONMENT,$(VENV),$@,pyproject.toml constraints.txt Makefile,constraints.txt,$(EXTRAS),,about a minute)

$(ROBOTSTAMP): FORCE
	@$(call ENVIRONMENT,$(ROBOT),$@,pyproject.toml constraints-robot.txt,constraints-robot.txt,$(ROBOTEXTRAS),hypothesis pytest pytest-xdist,a few minutes$(COMMA) 2.5 GB,$(NEED) '$(COMPILERS)' $(COMPILE);)

constraints: ## choose the newest versions afresh and rewrite constraints.txt (takes minutes)
	@$(PYTHON_CHECK); \
	set -e; tmp=$$(mktemp -d); trap 'rm -rf "$$tmp"' EXIT INT TERM; \
	$(PYTHON) -m venv "$$tmp/venv"; py="$$tmp/venv/bin/python"; \
	echo "$(TORCH)" > "$$tmp/torch.txt"; \
	"$$py" -m pip install --quiet -c "$$tmp/torch.txt" -e ".[$(EXTRAS)]"; \
	"$$py" -m pip check; \
	{ echo "# The versions Burnside is tested with. Rewritten by 'make constraints'; do not edit by hand."; \
	  echo "# Use: pip install -c constraints.txt -e '.[envs]'"; \
	  echo; echo "# installed and tested by make: $(EXTRAS)"; \
	  "$$py" -m pip freeze --exclude-editable --exclude burnside | sed 's/+.*//'; } > "$$tmp/constraints.txt"; \
	cp "$$tmp/constraints.txt" constraints.txt; echo "constraints.txt: $$(grep -c == constraints.txt) pins"
