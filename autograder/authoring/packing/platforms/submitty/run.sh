#!/bin/bash
# Submitty runs this as the first test case; it leaves verdict.json, which the validators of the other test cases read. Submitty
# copies the instructor's files after those of the student, so this file and grader.zip are ours.
work=$PWD
engine=$(mktemp -d) || exit 1
trap 'rm -rf "$engine"' EXIT
# -I: no module that a student handed in is imported.
python3 -I -m zipfile -e grader.zip "$engine" || exit 1
cd "$engine" || exit 1
[ -e checkpoints ] || ln -s "${CHECKPOINTS:-/opt/autograder/checkpoints}" checkpoints
export PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
timeout --kill-after=10 @WALL@ python3 -m autograder.platforms submitty settings.json "$work" "$work/verdict.json"
exit 0
