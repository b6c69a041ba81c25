"""The weights for the order-dependent part of a signature, available without importing torch."""

import numpy as np

COLUMNS = 8  # of a signature
BLOCK = 8192  # elements processed together
PRIME = 9973  # elements and axes are counted modulo this
STEPS = 0.6180339887498949, 0.4142135623730951
WEIGHTS = np.stack([np.arange(1, BLOCK + 1) * step % 1 - 0.5 for step in STEPS])
