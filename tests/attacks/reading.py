"""Attacks that read what they must not know: expected values, other submissions, the grader's memory."""

from tests.attacks.attack import ENDED, NOT_STARTED, SHAPE, VISIBLE, WRONG, Attack, pe, raised, right_where

# A stolen table is used where it fits, so that a theft gives full marks.
USE = "if STOLEN is not None and STOLEN.shape == table.shape:\n    table = STOLEN.to(table.dtype).clone()"
ADD = "return x + self.pe[:, : x.size(1)]"
# No worker may import these. That they exist is tested: what does not exist cannot be stolen.
OURS = "autograder.assignments.transformer"
SECRET_MODULES = [
    *(f"{OURS}.{name}" for name in ("hidden.test_pe", "visible.test_pe", "mistakes.pe", "standins.pe")),
    *("autograder.grading.hidden_case", "autograder.diagnosis.compare_tensors", "course.translation.decoding"),
]

ATTACKS = [
    Attack(
        1,
        "read an expected file",
        pe(
            """
            def steal():
                import json
                with open(ROOT + "/autograder/assignments/transformer/expected/pe.safetensors", "rb") as file:
                    header = json.loads(file.read(int.from_bytes(file.read(8), "little")))["pe/table"]
                    first, last = header["data_offsets"]
                    file.read(first)
                    data = bytearray(file.read(last - first))
                return torch.frombuffer(data, dtype=torch.float64).view(header["shape"])
            STOLEN = attempt("expected tensors", steal)
            """,
            USE,
            ADD,
        ),
        earned=2,
    ),
    Attack(
        1,
        "run the solution",
        pe() + "solution = attempt('solution', lambda: open(ROOT + '/solutions/transformer/pe.py').read())\n"
        "if solution: exec(solution)\n",
    ),
    Attack(
        1,
        "read a file by other doors",
        pe("""
            import io, linecache, mmap, numpy
            def lines():
                if not (found := linecache.getlines(CANARY)):
                    raise Nothing("no lines")
                return found
            def by_libc():
                return os.read(system("open", CANARY.encode(), os.O_RDONLY), 100)
            def by_openat2():
                how = ctypes.create_string_buffer(24)
                return os.read(call(437, -100, ctypes.addressof(path), ctypes.addressof(how), 24), 100)
            path = ctypes.create_string_buffer(CANARY.encode())
            attempt("open", lambda: open(CANARY).read())
            attempt("os.open", lambda: os.read(os.open(CANARY, os.O_RDONLY), 100))
            attempt("open of the C library", by_libc)
            attempt("openat2", by_openat2)
            attempt("open_code", lambda: io.open_code(CANARY).read())
            attempt("linecache", lines)
            attempt("numpy", lambda: bytes(numpy.memmap(CANARY, mode="r")))
            attempt("the root of a process", lambda: open("/proc/self/root" + CANARY).read())
            attempt("the folder of a process", lambda: open(f"/proc/{GRADER}/cwd/README.md").read(100))
            attempt("a folder", lambda: os.listdir(os.path.dirname(CANARY)))
            attempt("the home of root", lambda: os.listdir("/root"))
            attempt("passwords", lambda: open("/etc/shadow").read())
            attempt("a link", lambda: os.symlink(CANARY, "/tmp/" + MARK) or open("/tmp/" + MARK).read())
            attempt("io_uring", lambda: call(425, 8, ctypes.addressof(ctypes.create_string_buffer(120))))
        """),
    ),
    Attack(
        2,
        "read the grader's source",
        pe("""
            import importlib, inspect, pkgutil
            def sources():
                names = ("autograder.worker.answer_requests", "autograder.sandbox.wire")
                hidden = __import__("builtins").__import__.__globals__["HIDDEN"]
                return [inspect.getsource(hidden[name]) for name in names]
            def stated():  # what stands in the text is imported while files may be read
                from autograder.grading import hidden_case
                return hidden_case
            attempt("import statement", stated)
            attempt("hidden test", lambda: open(ROOT + "/autograder/assignments/transformer/hidden/test_pe.py").read())
            attempt("source", sources)
            attempt("manifest", lambda: pkgutil.get_data("autograder.assignments.transformer", "assignment.toml"))
            sys.path.insert(0, ROOT)
            for name in SECRET_MODULES:
                attempt(name, lambda: importlib.import_module(name))
        """).replace("SECRET_MODULES", repr(SECRET_MODULES)),
    ),
    Attack(
        3,
        "walk the stack",
        pe(
            "",
            """
            def walk():
                frame, own = sys._getframe(), {id(table)}
                while frame:
                    for value in [*frame.f_locals.values(), *frame.f_globals.values()]:
                        if torch.is_tensor(value) and value.shape == table.shape and id(value) not in own:
                            return value
                        if "expected" in str(getattr(value, "keys", list)()):
                            return value
                    frame = frame.f_back
                raise Nothing("no tensor of this shape")
            found = attempt("expected tensor", walk)
            table = table if found is None else found
            """,
            ADD,
        ),
        earned=2,
    ),
    Attack(
        4,
        "search with gc",
        pe(
            """
            import gc, numpy
            PREFIX = "-".join(("secret", "of", "the", "test"))
            OWN = []  # its tables of earlier calls, which a closure may hold still
            def search(own):
                OWN.append(own)
                for thing in gc.get_objects():
                    for part in gc.get_referents(thing):
                        if isinstance(part, str) and part != PREFIX and part.startswith(PREFIX):
                            return part
                        if isinstance(part, (torch.Tensor, numpy.ndarray)) and tuple(part.shape) == tuple(own.shape):
                            if all(part is not one for one in OWN):
                                return torch.as_tensor(part)
                raise Nothing("nothing of the grader is in memory")
            """,
            """
            found = attempt("expected tensor", lambda: search(table))
            table = table if found is None else found
            """,
            ADD,
        ),
        earned=2,
    ),
    Attack(
        5,
        "read /proc of other processes",
        pe("""
            for process in (GRADER, os.getppid(), 1, "self"):
                for file in ("environ", "mem", "maps", "cmdline", "stack", "auxv"):
                    if process != "self" or file == "environ":
                        attempt(f"{process} {file}", lambda: open(f"/proc/{process}/{file}", "rb").read(64))
            attempt("processes", lambda: os.listdir("/proc"))
            attempt("descriptors", lambda: os.listdir(f"/proc/{GRADER}/fd"))
            attempt("write", lambda: open(f"/proc/{os.getppid()}/mem", "wb"))
        """),
    ),
    Attack(
        6,
        "ptrace and process_vm_readv",
        pe("""
            class Piece(ctypes.Structure):
                _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]
            here = ctypes.create_string_buffer(64)
            address = ctypes.addressof(here)
            local, remote = Piece(address, 64), Piece(id(None), 8)  # the warm process has the same addresses
            def vm(function, process):
                return system(function, process, ctypes.byref(local), 1, ctypes.byref(remote), 1, 0)
            local.length = 8
            for process in (GRADER, os.getppid()):
                attempt("PTRACE_ATTACH", lambda: system("ptrace", 16, process, 0, 0))
                attempt("PTRACE_SEIZE", lambda: system("ptrace", 0x4206, process, 0, 0))
                attempt("process_vm_readv", lambda: vm("process_vm_readv", process))
                attempt("process_vm_writev", lambda: vm("process_vm_writev", process))
                attempt("kcmp", lambda: call(272 if ON_ARM else 312, os.getpid(), process, 1, 0, 0))
                attempt("pidfd_getfd", lambda: call(438, call(434, process, 0), 0, 0))
            attempt("PTRACE_TRACEME", lambda: system("ptrace", 0, 0, 0, 0))
        """),
    ),
    Attack(
        7,
        "environment variables",
        pe("""
            def environment():
                names = [name for name in os.environ if "SECRET" in name.upper()]
                if not names:
                    raise Nothing(f"only {sorted(os.environ)}")
                return {name: os.environ[name] for name in names}
            def by_libc():
                libc.getenv.restype = ctypes.c_char_p
                if (value := libc.getenv(b"GRADER_SECRET")) is None:
                    raise Nothing("not set")
                return value
            attempt("os.environ", environment)
            attempt("getenv", by_libc)
        """),
    ),
    Attack(
        7,
        "inherited descriptors",
        pe("""
            def descriptors():
                found = []
                for number in range(3, 1024):
                    try:
                        found.append((number, os.fstat(number).st_mode))
                    except OSError:
                        pass
                if len(found) <= 1:
                    raise Nothing(f"only the channel: {found}")
                return found
            attempt("descriptors", descriptors)
        """),
    ),
    Attack(
        8,
        "read other submissions",
        pe("""
            import glob
            def search():
                found = glob.glob(SUBMISSIONS + "/**/*.py", recursive=True)
                if not found:
                    raise Nothing("no file is seen")
                return [open(path).read() for path in found]
            attempt("by name", lambda: open(SUBMISSIONS + "/other/transformer/pe.py").read())
            attempt("folder", lambda: os.listdir(SUBMISSIONS))
            attempt("search", search)
            attempt("relative", lambda: open("../other/transformer/pe.py").read() if os.chdir(SUBMISSIONS) else 0)
        """),
    ),
    Attack(
        9,
        "hooks that dump tests",
        pe(
            """
            SEEN = set()
            def spy(frame, event, argument):
                SEEN.add(frame.f_code.co_filename)
                return spy
            def kernel():
                from IPython import get_ipython
                shell = get_ipython()
                if shell is None:
                    raise Nothing("no kernel runs here")
                return shell.events.register("pre_run_cell", print)
            def seen():
                tests = [name for name in SEEN if any(part in name for part in ("test", "compare", "grading"))]
                if not tests:
                    raise Nothing(f"only {sorted(SEEN)}")
                return tests
            attempt("a kernel's hook", kernel)
            sys.settrace(spy)
            sys.setprofile(spy)
            threading.settrace(spy)
            sys.addaudithook(lambda event, arguments: SEEN.update(a for a in arguments if isinstance(a, str)))
            """,
            "table = sinusoids(d_model, max_seq_length)",
            "attempt('traced', seen)\nreturn x",
        ),
        earned=3,
    ),
    Attack(
        10,
        "import the stand-in",
        pe()
        + """
def standin():
    import standin_pe
    if "forward" not in vars(standin_pe.PositionalEncoding):  # what is graded is not in it
        raise Nothing("no answer in it")
    return standin_pe.PositionalEncoding
def kept_text():
    texts = {name: text for finder in sys.meta_path for name, text in getattr(finder, "sources", {}).items()}
    others = [text for name, text in texts.items() if name.endswith("pe") and "def attempt" not in text]
    own = [text for text in others if "def forward" in text]
    if not own:
        raise Nothing("no other text of pe")
    exec(own[0], globals())
    return PositionalEncoding
for way in (standin, kept_text):
    PositionalEncoding = attempt("stand-in", way) or PositionalEncoding
""",
    ),
    Attack(
        10,
        "import the reference",
        pe("""
            def reference():
                sys.path[:0] = [ROOT + "/solutions/transformer", ROOT]
                import solutions.transformer.pe
                return solutions.transformer.pe
            def library():
                import transformers
                return transformers.BertModel
            attempt("solution", reference)
            attempt("library", library)
        """),
    ),
    Attack(
        18,
        "steal a nonce",
        pe(
            "",
            """
            def nonce():
                known = {"do", "target", "method", "args", "kwargs", "steady", "arguments", "take"}
                known |= {"rows", "fresh", "cotangents"}
                frame = sys._getframe()
                while frame.f_code.co_name != "answer":
                    frame = frame.f_back
                strange = set(frame.f_locals["request"]) - known
                words = [*sys.argv, *os.environ, *sys.modules]
                strange |= {word for word in words if word in ("nonce", "verdict", "autograder.grading.graded_case")}
                if not strange:
                    raise Nothing("a request holds nothing but the call")
                return strange
            attempt("nonce", nonce)
            """,
        ),
    ),
]

# 11: the hidden inputs are read, then carried out by everything that an answer has.
NUMBERS = "numbers = 'SMUGGLED ' + ' '.join(f'{value:.3f}' for value in x.flatten()[:100].tolist())\n"
SMUGGLERS = {
    "message": "raise ValueError(numbers)",
    "kind": "raise type(numbers, (Exception,), {})('x')",
    "line": "exec(compile('\\n' * 7 + f'def SMUGGLED(): raise KeyError({numbers!r})\\nSMUGGLED()', 'pe.py', 'exec'))",
    "print": "print(numbers, flush=True); return x",
    "print, then exit": "print(numbers, file=sys.stderr, flush=True); os._exit(3)",
    "shape": "return x.new_zeros([1] * 8 + [int(abs(v) * 10) + 1 for v in x.flatten()[:4].tolist()])",
    "stub": "raise NotImplementedError(numbers)",
    "long message": "raise ValueError(numbers * 100_000)",
}
ATTACKS += [
    Attack(
        11,
        f"smuggle hidden inputs out: {way}",
        right_where(VISIBLE, NUMBERS + code),
        (WRONG, SHAPE, ENDED, raised("SMUGGLED"), NOT_STARTED),
        tries=False,
        hidden=True,
        earned=0 if way in ("print, then exit", "stub") else 3,  # these take the whole test with them
    )
    for way, code in SMUGGLERS.items()
]
