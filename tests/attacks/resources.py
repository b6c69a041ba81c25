"""Attacks on time, memory, processes and output."""

from tests.attacks.attack import ENDED, LATE, WRONG, Attack, Verdict, pe, raised

HANGS = {
    "busy": pe("", "while True: pass"),
    "sleep": pe("", "time.sleep(1000)"),
    "at import": pe("while True: pass"),
    "in C": pe("", "torch.arange(10**7).double().sort(); 9 ** 9 ** 9"),
    "signals ignored": pe("""
        for number in range(1, 65):
            try:
                signal.signal(number, signal.SIG_IGN)
            except (OSError, ValueError):
                pass
        signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
        while True:
            try:
                while True: pass
            except BaseException:
                pass
    """),
    "stopped": pe("", "signal.raise_signal(signal.SIGSTOP); time.sleep(1000)"),
    "a lock": pe("", "lock = threading.Lock(); lock.acquire(); lock.acquire()"),
    "in the text of an exception": pe("""
        class Slow(Exception):
            def __str__(self):
                while True: pass
        raise Slow
    """),
    "reading the questions itself": pe("", "while True: channel('reader').read(1)"),
}
ATTACKS = [Attack(34, f"hang: {way}", text, LATE, tries=False, seconds=1.0) for way, text in HANGS.items()]
ATTACKS += [
    Attack(
        34,
        "hang: in a regular expression",
        pe("", "import re; re.match('(a+)+$', 'a' * 40 + 'b')"),
        LATE,
        tries=False,
        seconds=1.0,
    ),
    Attack(
        34,
        "hang: only the second dtype",
        pe("", "if torch.get_default_dtype() == torch.float64: raise TypeError('dtype')\nwhile True: pass"),
        LATE,
        tries=False,
        seconds=1.0,
    ),
]

# A child sleeps a little and ends by itself, should it come to life.
CHILDREN = """
def forks(fork):
    children = []
    for _ in range(50):
        child = fork()
        if child == 0:
            libc.sleep(2)
            libc._exit(0)
        children.append(child)
    return children
"""
ATTACKS += [
    Attack(
        35,
        "fork bomb",
        pe(
            CHILDREN
            + """
import multiprocessing, subprocess
attempt("fork", lambda: forks(os.fork))
attempt("fork of the C library", lambda: forks(lambda: system("fork")))
attempt("vfork", lambda: forks(lambda: call(220 if ON_ARM else 58, *(() if not ON_ARM else (17, 0, 0, 0, 0)))))
attempt("clone", lambda: forks(lambda: call(220 if ON_ARM else 56, signal.SIGCHLD, 0, 0, 0, 0)))
attempt("clone3", lambda: forks(lambda: call(435, ctypes.addressof(ctypes.create_string_buffer(88)), 88)))
attempt("forkpty", lambda: forks(lambda: os.forkpty()[0]))
attempt("spawn", lambda: [os.posix_spawn("/bin/sleep", ["sleep", "1"], {}) for _ in range(50)])
attempt("subprocess", lambda: [subprocess.Popen([sys.executable, "-c", "1"]) for _ in range(50)])
attempt("multiprocessing", lambda: multiprocessing.get_context("fork").Process(target=time.sleep, args=(1,)).start())
"""
        ),
    ),
    Attack(
        36,
        "thread bomb",
        pe("""
            def threads():
                started = [threading.Thread(target=time.sleep, args=(30,), daemon=True) for _ in range(2000)]
                for thread in started:
                    thread.start()
                return len(started)
            attempt("2,000 threads", threads)
        """),
    ),
    Attack(
        36,
        "threads of torch",
        pe("""
            try:
                torch.set_num_threads(256)
                torch.set_num_interop_threads(256)
                (torch.zeros(2000, 2000) @ torch.zeros(2000, 2000)).sum()
            except RuntimeError as error:
                print(error)
        """),
        (WRONG, ENDED),
        tries=False,
    ),
]

MEMORY = {
    "bytes": "[bytearray(2**28) for _ in range(40)]",
    "a list that doubles": "[kept.extend(kept) for kept in [[0] * 1000] for _ in range(31)]",
    "text": "len('x' * 2**34)",
    "mmap": "[kept for kept in [[]] for _ in range(16) if kept.append(__import__('mmap').mmap(-1, 2**30))]",
}
ATTACKS += [
    Attack(37, f"memory bomb: {way}", pe(f"attempt('10 GB', lambda: {code})"), (WRONG, ENDED), tries=False)
    for way, code in MEMORY.items()
]
ATTACKS += [
    Attack(37, "memory bomb: torch", pe("", "table = torch.ones(2**31)"), (raised("RuntimeError"), ENDED), tries=False),
    Attack(
        37,
        "memory bomb: many tensors",
        pe("", "self.kept = [torch.ones(2**22) for _ in range(400)]"),
        (raised("RuntimeError"), raised("MemoryError"), ENDED),
        tries=False,
    ),
    Attack(
        37,
        "memory bomb in an exception",
        pe("raise ValueError('x' * 2**30)"),
        (raised("ValueError"), raised("MemoryError"), ENDED),
        tries=False,
    ),
]

CRASHES: dict[str, tuple[str, Verdict | tuple[Verdict, ...]]] = {
    "recursion": ("recurse = lambda: recurse()\nrecurse()", raised("RecursionError")),
    "C stack": (
        "class Deep:\n    __repr__ = lambda self: repr(self)\nsys.setrecursionlimit(10**9)\nrepr(Deep())",
        (ENDED, raised("RecursionError"), raised("MemoryError")),
    ),
    "abort": ("os.abort()", ENDED),
    "segfault": ("ctypes.string_at(0)", ENDED),
    "division by zero in C": ("signal.raise_signal(signal.SIGFPE)", ENDED),
    "killed by itself": ("os.kill(os.getpid(), signal.SIGKILL)", (ENDED, raised("PermissionError"))),
    "end of the C library": ("libc.quick_exit(0)", ENDED),
    "a foreign pointer is freed": ("libc.free(ctypes.c_void_p(8))", ENDED),
}
ATTACKS += [
    Attack(38, f"crash: {way}", pe("", code), verdict, tries=False, seconds=10.0)
    for way, (code, verdict) in CRASHES.items()
]
SOURCES = {
    "text that breaks the parser": "x = " + "(" * 5000 + ")" * 5000,
    "text that breaks the compiler": "x = " + "-" * 60_000 + "1",
    "text with a null byte": "x = '\0'",
    "text of one long sum": "x = " + "+".join(["1"] * 30_000),
    "text with half a surrogate": "x = '\ud800'",
}
ATTACKS += [
    Attack(38, f"crash: {way}", text + "\n" + pe(), (raised(""), ENDED, WRONG), tries=False)
    for way, text in SOURCES.items()
]

FLOODED = Verdict("error", "the code printed more than")
FLOODS = {
    "print": "for _ in range(400): print('x' * 100_000)",
    "on stderr": "for _ in range(400): sys.stderr.write('y' * 100_000)",
    "on the descriptor": "for _ in range(400): os.write(1, b'z' * 100_000)",
    "without line ends, not UTF-8": "for _ in range(400): os.write(2, b'\\xff\\x00' * 50_000)",
}
ATTACKS += [Attack(39, f"flood: {way}", pe(code), (WRONG, ENDED, FLOODED), tries=False) for way, code in FLOODS.items()]
ATTACKS += [
    Attack(
        39,
        "flood without end",
        pe("while True:\n    try:\n        os.write(1, b'x' * 100_000)\n    except OSError:\n        pass"),
        (LATE, ENDED),
        tries=False,
        seconds=1.5,
    ),
    Attack(39, "stdout is closed", pe("os.close(1); os.close(2); sys.stdout.close(); sys.stderr = None"), tries=False),
]
