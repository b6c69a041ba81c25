"""What a worker may use, and how much may come back from it: time, memory, output, sizes of answers."""

CALL_SECONDS = 20.0  # wall time of one call of the student's code
CPU_SECONDS = 120  # of a worker, which runs all the tests of a stage
MEMORY = 2 << 30  # bytes of address space beyond what the warm process has mapped
DESCRIPTORS = 64
PRINTED = 16 << 20  # bytes that a worker may print; more ends it
KEPT_OUTPUT = 16 * 1024  # bytes of it that are kept
MAX_HEADER = 256 * 1024  # bytes of the JSON of a frame
MAX_BODY = 64 * 1024 * 1024  # bytes of its tensors
MAX_DEPTH = 8  # lists in lists
TRACE_NODES = 4000  # results of operations that are recorded of a failed call
TRACE_BYTES = 256 << 20  # of the tensors that are kept for it
TRACE_SECONDS = 3.0  # for which a call is followed
