# Commands for students. Needs make and Python 3.10 or later: `make PYTHON=python3.12 grade`.

PYTHON ?= python3
VENV ?= .venv
ifeq ($(OS),Windows_NT)
BIN := $(VENV)/Scripts
else
BIN := $(VENV)/bin
# PyPI's torch for Linux includes gigabytes for graphics cards. This index has the CPU build, which pip prefers;
# `make TORCH_INDEX= grade` leaves it out.
ifeq ($(shell uname -s),Linux)
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu
endif
endif
RUN := $(BIN)/python

ARGS ?=

.PHONY: help grade lab doctor clean

help:
	@echo "make grade   check your progress, all stages; one stage: make grade ARGS={stage}"
	@echo "make lab     the notebooks in JupyterLab"
	@echo "make doctor  check that everything is installed, and say what to do if not"
	@echo "make clean   remove the virtual environment; your files stay"

grade: $(VENV)/installed
	@$(RUN) grade.py $(ARGS) || test $$? -eq 4 # 4: not full marks; anything else is a fault

lab: $(VENV)/installed
	$(RUN) -m jupyterlab $(ARGS)

doctor: $(VENV)/installed
	$(RUN) -m course.doctor

clean:
	rm -rf $(VENV) *.egg-info

$(VENV)/installed: pyproject.toml constraints.txt | $(VENV)/pyvenv.cfg
	@echo "Installing the packages of the course; the first time this takes some minutes."
	$(RUN) -m pip install --disable-pip-version-check -c constraints.txt $(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX)) -e .
	@touch $@

$(VENV)/pyvenv.cfg:
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(0 if v >= (3, 10) else "error: Python 3.10 or later is needed, but $(PYTHON) is %d.%d; try: make PYTHON=python3.12" % v[:2])'
	$(PYTHON) -m venv $(VENV)
