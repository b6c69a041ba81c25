#!/usr/bin/env bash
# Gradescope runs this for each submission, as root. For a folder other than /autograder: run_autograder FOLDER
set -u
root=${1:-/autograder}

# First a result that says that the grader failed. The verdict replaces it, so there is a result whatever happens.
mkdir -p "$root/results"
cp "$root/source/fault.json" "$root/results/results.json"

# A worker that runs as a different user must not read these (nor earlier results), even without Landlock.
for path in source results submission_metadata.json; do
    if [ -e "$root/$path" ]; then chmod go= "$root/$path"; fi
done

# Gradescope ends everything after 10 minutes, and then there is no result at all.
cd "$root/source"
export PYTHONPATH=$root/packages PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
timeout --kill-after=10 560 python3 -m autograder.authoring.packing.gradescope_container "$root" ||
    echo "The grader ended with exit status $?, and results.json says that it failed."
