"""What a worker may use, and how much may come back from it: time, memory, output, sizes of answers."""

CALL_SECONDS = 20.0  # wall time of one call of the student's code
START_SECONDS = 60.0  # for a worker to be ready: where it is no fork, it imports torch first
# Of a call in a stage in which one has had CALL_SECONDS. The longest ones of correct code took 0.2 s in a fork, and
# 0.4 s in a process of its own. A machine, or code, so slow that this is not much shows it by the calls that return.
LATER_SECONDS, TIMES_LONGEST = 3.0, 20
LAST_WORDS_SECONDS = 1.0  # at most, for a worker to say where it is when the time of a call is up
SUBMISSION_SECONDS = 120.0  # of all calls of one submission of others; the reference needs a few seconds of it
DIVIDED = 0.75  # of that, what is divided among the stages beforehand
LEAST_SECONDS = 0.2  # with less than that no call is tried
CPU_SECONDS = 120  # of a worker, which runs all the tests of a stage
MEMORY = 2 << 30  # bytes of address space beyond what the warm process has mapped
WAITING = 768 << 20  # bytes that a worker may hold while others work, what it shares with the warm process included
WAITING_STAGES = 3  # of a submission, whose workers wait: Gradescope gives a container 768 MB
DESCRIPTORS = 64
PRINTED = 16 << 20  # bytes that the code may print in one test; then its worker is ended
KEPT_OUTPUT = 16 * 1024  # bytes of it that are kept
MAX_HEADER = 256 * 1024  # bytes of the JSON of a frame, and of the list of tensors before its body
MAX_BODY = 64 * 1024 * 1024  # bytes of its tensors
MAX_DEPTH = 8  # lists in lists
MAX_NUMBER = 2**63  # of whole numbers outside tensors
MAX_AXES = 32  # of a tensor: as many as every release of NumPy can hold
TRACE_NODES = 4000  # results of operations that are recorded of a failed call
TRACE_BYTES = 256 << 20  # of the tensors that are kept for it
TRACE_SECONDS = 3.0  # of computing for which a call is followed
MOST_RAN = 1_000_000  # operations of a followed call that are counted
MOST_LINES = 5000  # of it that are told to be reached
