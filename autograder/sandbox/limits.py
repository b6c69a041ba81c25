"""Limits for a worker and its replies: time, memory, output and sizes."""

CALL_SECONDS = 20.0  # wall-clock time for one call to the student's code
START_SECONDS = 60.0  # until a worker is ready: without fork, it imports torch first
# The limit for later calls, after a call in the same stage used up CALL_SECONDS. Correct code took at most 0.2 s in a
# fork and 0.4 s in a separate process. On a slow machine, or with slow code, the calls that do return take longer,
# which raises the limit.
LATER_SECONDS, TIMES_LONGEST = 3.0, 20
LAST_WORDS_SECONDS = 1.0  # for a worker to report its location after a timeout
SUBMISSION_SECONDS = 120.0  # for all calls to one untrusted submission; the reference needs a few seconds
DIVIDED = 0.75  # the fraction of SUBMISSION_SECONDS that is divided among the stages beforehand
LEAST_SECONDS = 0.2  # with less time left, no call is attempted
CPU_SECONDS = 120  # of a worker, which runs all tests of a stage
MEMORY = 2 << 30  # bytes of address space beyond that of the warm process
WAITING = 768 << 20  # bytes that a paused worker may use, including memory shared with the warm process
WAITING_STAGES = 3  # stages of a submission whose workers are paused: a Gradescope container has 768 MB
DESCRIPTORS = 64
PRINTED = 16 << 20  # bytes that the code may print in one test before its worker is stopped
KEPT_OUTPUT = 16 * 1024  # bytes of the output that are kept
MAX_HEADER = 256 * 1024  # bytes of the JSON in a frame, and of the list of tensors before its body
MAX_BODY = 64 * 1024 * 1024  # bytes of the tensors in a frame
MAX_DEPTH = 8  # levels of nested lists
MAX_NUMBER = 2**63  # for integers outside tensors
MAX_AXES = 32  # of a tensor: the most that every release of NumPy supports
TRACE_NODES = 4000  # operation results recorded for a failed call
TRACE_BYTES = 256 << 20  # of tensors kept in a trace
TRACE_SECONDS = 3.0  # computation time for which a call is traced
MOST_RAN = 1_000_000  # operations counted in a traced call
MOST_LINES = 5000  # lines reported as reached in a traced call
