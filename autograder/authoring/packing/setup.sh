#!/usr/bin/env bash
# Gradescope runs this once, as root, while it builds the image. For a folder other than /autograder: setup.sh FOLDER
set -euo pipefail
root=${1:-/autograder}

# The solutions, the hidden tests and their seed are for root only.
chmod -R go= "$root/source"

python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' || {
    echo "error: Python 3.10 or later is needed. Choose the base image Ubuntu 22.04 or a later one." >&2
    exit 1
}
# Bare images may have Python without pip; everything else comes with pip.
python3 -m pip --version > /dev/null 2>&1 || { apt-get update && apt-get install -y python3-pip; }

# PyPI's torch brings gigabytes of CUDA libraries. The CPU build is in the CPU index of pytorch.org as version X+cpu.
# pip regards it as later than X on PyPI, and it satisfies X in constraints.txt. TORCH_INDEX= (nothing) omits that
# index, another address replaces it.
torch_index=${TORCH_INDEX-https://download.pytorch.org/whl/cpu}
# Into a separate folder, which needs no virtual environment and leaves the system's packages alone.
python3 -m pip install --no-cache-dir --target "$root/packages" ${torch_index:+--extra-index-url "$torch_index"} \
    --constraint "$root/source/constraints.txt" --requirement "$root/source/requirements.txt"
# The user that runs workers must be able to read them.
chmod -R go+rX "$root/packages"

# For the build log: what this container supports. A different kernel may run it later.
cd "$root/source"
PYTHONPATH=$root/packages python3 -m autograder doctor || true
