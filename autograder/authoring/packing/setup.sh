#!/usr/bin/env bash
# Gradescope runs this once, as root, while it builds the image. Another folder than /autograder: setup.sh FOLDER
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

# The torch of PyPI brings gigabytes of CUDA libraries. The build for the processor lies in the CPU index of pytorch.org
# as version X+cpu, which pip takes for later than the X of PyPI and which satisfies the X of constraints.txt.
# TORCH_INDEX= (nothing) leaves that index out, another address replaces it.
torch_index=${TORCH_INDEX-https://download.pytorch.org/whl/cpu}
# Into a folder of its own: that needs no virtual environment and leaves the system's packages alone.
python3 -m pip install --no-cache-dir --target "$root/packages" ${torch_index:+--extra-index-url "$torch_index"} \
    --constraint "$root/source/constraints.txt" --requirement "$root/source/requirements.txt"
# The user that workers become has to read them.
chmod -R go+rX "$root/packages"

# For the log of the build: what this container supports. It may be another kernel that runs it later.
cd "$root/source"
PYTHONPATH=$root/packages python3 -m autograder doctor || true
