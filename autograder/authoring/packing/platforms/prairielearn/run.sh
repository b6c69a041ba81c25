#!/bin/bash
# PrairieLearn runs this for each submission, as root; its exit status must be 0. For a folder other than /grade: run.sh FOLDER
root=${1:-/grade}
engine=$root/serverFilesCourse/autograder-@NAME@

# First a result that says that the grader failed. The verdict replaces it, so there is a result whatever happens.
mkdir -p "$root/results"
cp "$root/tests/fault.json" "$root/results/results.json"

# A worker that runs as a different user must not read these, even without Landlock.
chmod go= "$root/tests" "$root/results" "$root/serverFilesCourse"
[ -d "$root/data" ] && chmod go= "$root/data"

cd "$engine" || exit 0
[ -e checkpoints ] || ln -s "${CHECKPOINTS:-/opt/autograder/checkpoints}" checkpoints
export PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
timeout --kill-after=10 @WALL@ python3 -m autograder.platforms prairielearn \
    "$root/tests/settings.json" "$root/student" "$root/results/results.json"
exit 0
