"""The weights by which a signature sees the order of elements; without torch, for who only compares signatures."""

import numpy as np

BLOCK = 8192  # elements that are looked at together
PRIME = 9973  # modulo which elements and axes are counted
STEPS = 0.6180339887498949, 0.4142135623730951
WEIGHTS = np.stack([np.arange(1, BLOCK + 1) * step % 1 - 0.5 for step in STEPS])
