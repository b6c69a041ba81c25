# Everything that is done from the command line. Needs make and Python 3.10 or later: `make PYTHON=python3.12 grade`.

PYTHON ?= python3
VENV ?= .venv
ifeq ($(OS),Windows_NT)
BIN := $(VENV)/Scripts
else
BIN := $(VENV)/bin
endif
RUN := $(BIN)/python

# Options for the programs: `make evaluate CORPORA=folder`, `make train CORPORA=folder ARGS="--epochs 12"`.
CORPORA ?=
ARGS ?=
CORPUS_DIR := $(if $(CORPORA),--corpus-dir "$(CORPORA)")

.DELETE_ON_ERROR:
.PHONY: help grade test quick browser attacks mutants bugs ablate term lint format audit build release expected figures gradescope pack handout site tolerance bench train evaluate constraints clean

help:
	@echo "make grade      grade the reference solution (full marks) and the students' stubs (no marks)"
	@echo "make test       all tests, the linter and the type checker"
	@echo "make quick      the tests that run no student code, and the linter: under a minute"
	@echo "make attacks    the attacks on the grader; as root, as both kinds of user"
	@echo "make mutants    correct programs with one small change each: which are caught, whose line is named   ARGS=\"--sample 200\""
	@echo "make bugs       bugs by blind authors: which are caught, whose line is named; the held-out third   ARGS=--held"
	@echo "make ablate     the same without one kind of evidence at a time   ARGS=\"--sample 20\""
	@echo "make term       a term of twelve students, from release to the grade books"
	@echo "make browser    the notebooks in a real JupyterLab (needs Chromium: CHROMIUM=path)"
	@echo "make lint       ruff, mypy and the layers of imports only;  make format  lets ruff correct what it can"
	@echo "make audit      everything that must hold of an assignment   ARGS=\"NAME --quick\""
	@echo "make release    write notebooks/ anew from solutions/, and the points of the manifests into texts"
	@echo "make expected   write the stored inputs and expected tensors of the visible tests anew"
	@echo "make figures    draw the figures in img/ and docs/ anew"
	@echo "make build      all three, and what has changed   ARGS=NAME"
	@echo "make gradescope  the autograder archive for Gradescope, build/transformer.zip"
	@echo "make pack       the autograder for another platform   ARGS=\"--for prairielearn transformer\""
	@echo "make handout    what students get, build/transformer-student.zip   ARGS=\"--assignment NAME\""
	@echo "make site       the course as pages for a web server, build/site; notebooks that have not changed are not run again"
	@echo "make tolerance  measure how far correct code and mistakes deviate, into docs/tolerance.md"
	@echo "make bench      what grading, decoding and training cost, as ratios"
	@echo "make train      train the checkpoint       CORPORA=folder ARGS=..."
	@echo "make evaluate   BLEU and chrF of the model CORPORA=folder ARGS=..."
	@echo "make constraints  pin the dependencies of pyproject.toml anew (needs uv)"
	@echo "make clean      remove the virtual environment and caches"

grade: $(VENV)/installed
	$(RUN) grade.py --submission solutions/transformer
	@echo
	@echo "And the stubs that students start from:"
	@$(RUN) grade.py --submission notebooks/transformer || test $$? -eq 4 # 4: not full marks; anything else is a fault

# Where the shell forbids bytecode, each of the hundreds of processes of a test run would compile everything again.
test: export PYTHONDONTWRITEBYTECODE =
test: $(VENV)/installed-dev
	$(RUN) -m ruff check
	$(RUN) -m ruff format --check
	$(RUN) -m pytest -n auto --dist loadfile --no-loadscope-reorder $(ARGS)

# What needs no worker and no training. Between two edits this is enough; `make test` before a commit.
QUICK := tests/manifest tests/project tests/diagnosis/test_wrong_elements.py tests/localization/test_suspects.py \
	$(addprefix tests/reports/test_,class_report.py one_cause.py one_screen.py pages.py review_page.py student_feedback.py) \
	$(addprefix tests/gradebooks/test_,canvas.py grading_policy.py moodle.py) tests/submissions/test_loose_files.py \
	$(addprefix tests/course/test_,alignment.py checkpoint.py config.py corpora.py figures.py modules.py text.py update.py) \
	$(addprefix tests/authoring/test_,formulations.py stubs.py) tests/assignments/test_notebook_layout.py \
	$(addprefix tests/sandbox/test_,seccomp.py wire.py) tests/worker/tracing tests/forbidden/test_star_imports.py

quick: $(VENV)/installed-dev
	$(RUN) -m ruff check
	$(BIN)/lint-imports
	$(RUN) -m pytest -n auto --dist loadfile $(QUICK) $(ARGS)

attacks: $(VENV)/installed-dev
	$(RUN) -m tests.attacks $(ARGS)

mutants: $(VENV)/installed-dev
	$(RUN) -m tests.mutants $(ARGS)

bugs: $(VENV)/installed-dev
	$(RUN) -m tests.bugs $(ARGS)

ablate: $(VENV)/installed-dev
	$(RUN) -m tests.bugs.ablate $(ARGS)

term: $(VENV)/installed-dev
	$(RUN) -m pytest tests/classroom/test_term_of_twelve.py tests/classroom/test_term_of_all.py -m slow $(ARGS)

browser: $(VENV)/installed-dev
	$(RUN) -m pip install --disable-pip-version-check -c constraints.txt -e ".[browser]"
	$(RUN) -m pytest tests/browser -m browser $(ARGS)

lint: $(VENV)/installed-dev
	$(RUN) -m ruff check
	$(RUN) -m ruff format --check
	$(RUN) -m mypy
	$(BIN)/lint-imports

format: $(VENV)/installed-dev
	$(RUN) -m ruff check --fix
	$(RUN) -m ruff format

audit: $(VENV)/installed
	$(RUN) -m autograder audit $(or $(ARGS),transformer)

release: $(VENV)/installed
	$(RUN) -m autograder release

expected: $(VENV)/installed
	$(RUN) -m autograder expected

figures: $(VENV)/installed
	$(RUN) -m autograder build --only figures

build: $(VENV)/installed
	$(RUN) -m autograder build $(ARGS)

gradescope: $(VENV)/installed
	$(RUN) -m autograder gradescope build/transformer.zip $(ARGS)

pack: $(VENV)/installed
	$(RUN) -m autograder pack $(ARGS)

handout: $(VENV)/installed
	$(RUN) -m autograder handout $(ARGS)

site: $(VENV)/installed
	$(RUN) -m pip install --disable-pip-version-check --quiet -c constraints.txt -e ".[site]"
	$(RUN) -m autograder site $(ARGS)

tolerance: $(VENV)/installed
	$(RUN) -m autograder tolerance --out docs/tolerance.md $(ARGS)

bench: $(VENV)/installed
	$(RUN) -m bench.grade
	$(RUN) -m bench.class_of_students $(ARGS)
	$(RUN) -m bench.assignments
	$(RUN) -m bench.translate $(CORPUS_DIR)
	$(RUN) -m bench.train

train: $(VENV)/installed
	$(RUN) -m course.train --out checkpoints/de-en $(CORPUS_DIR) $(ARGS)

evaluate: $(VENV)/installed
	$(RUN) -m course.evaluate $(CORPUS_DIR) $(ARGS)

# The versions in constraints.txt stay as they are unless ARGS says otherwise, e.g. ARGS="--upgrade-package numpy".
# The CUDA libraries are left out: each build of torch names its own.
constraints:
	uv pip compile pyproject.toml --all-extras --universal --python-version 3.10 --no-annotate --quiet \
		--custom-compile-command "make constraints" --output-file constraints.txt $(ARGS)
	grep -vE '^(cuda|nvidia|triton)' constraints.txt > constraints.partial
	mv constraints.partial constraints.txt

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache

# The virtual environment is made once, and brought up to date when the dependencies have changed.
$(VENV)/installed: pyproject.toml constraints.txt | $(VENV)/pyvenv.cfg
	@echo "Installing the packages of the course; the first time this takes some minutes."
	$(RUN) -m pip install --disable-pip-version-check -c constraints.txt -e .
	@touch $@

$(VENV)/installed-dev: pyproject.toml constraints.txt | $(VENV)/pyvenv.cfg
	@echo "Installing the packages of the course and the development tools; the first time this takes some minutes."
	$(RUN) -m pip install --disable-pip-version-check -c constraints.txt -e ".[dev]"
	@touch $(VENV)/installed $@

$(VENV)/pyvenv.cfg:
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(0 if v >= (3, 10) else "error: Python 3.10 or later is needed, but $(PYTHON) is %d.%d; try: make PYTHON=python3.12" % v[:2])'
	$(PYTHON) -m venv $(VENV)
