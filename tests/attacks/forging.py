"""Attacks that forge a verdict: patched comparisons, objects that equal everything, early exits, false reports."""

import textwrap

from tests.attacks.attack import ENDED, LATE, NO_MODULE, TYPE, UNREADABLE, WRONG, Attack, answering, pe, raised

ATTACKS = [
    Attack(
        12,
        "patch the comparisons of torch and numpy",
        pe("""
            import numpy
            for library in (torch, numpy, numpy.testing, torch.testing):
                for name in ("allclose", "isclose", "equal", "array_equal", "isfinite", "abs", "assert_close"):
                    if hasattr(library, name):
                        setattr(library, name, lambda *arguments, **options: True)
            torch.Tensor.__eq__ = torch.Tensor.allclose = torch.Tensor.equal = lambda *arguments, **options: True
        """),
        tries=False,
    ),
    Attack(
        12,
        "patch unittest",
        pe("""
            import unittest
            for name in dir(unittest.TestCase):
                if name.startswith(("assert", "fail")):
                    setattr(unittest.TestCase, name, lambda *arguments, **options: None)
            unittest.TestCase.run = lambda self, result=None: result
            unittest.TestResult.wasSuccessful = lambda self: True
            unittest.TestResult.addFailure = unittest.TestResult.addError = lambda *arguments: None
        """),
        tries=False,
    ),
    Attack(
        12,
        "patch builtins",
        pe("""
            import builtins
            builtins.all = builtins.any = builtins.callable = lambda *arguments: True
            builtins.abs = builtins.round = lambda *arguments: 0
            builtins.AssertionError = builtins.Warning
            builtins.open = lambda *arguments, **options: None
        """),
        raised("AttributeError"),  # of torch, for which everything is callable now
        tries=False,
    ),
    Attack(
        12,
        "patch the worker",
        pe("""
            hidden = __import__("builtins").__import__.__globals__["HIDDEN"]
            frames, worker = hidden["autograder.sandbox.wire"], hidden["autograder.worker.answer_requests"]
            worker.Worker.pack = lambda self, value: ({"value": True, "status": "passed", "points": 5}, b"")
            worker.describe = lambda error: {"kind": "passed", "message": "", "where": []}
            frames.MAGIC = b"PASS"
        """),
        (NO_MODULE, TYPE, UNREADABLE),
        tries=False,
    ),
    Attack(
        13,
        "strip asserts by AST",
        pe("""
            import ast, builtins, importlib.util
            compiled = builtins.compile
            class Strip(ast.NodeTransformer):
                def visit_Assert(self, node):
                    return ast.Pass()
                def visit_Raise(self, node):
                    return ast.Pass()
            def compile(source, name, mode, *arguments, **options):
                tree = Strip().visit(ast.parse(source))
                return compiled(ast.fix_missing_locations(tree), name, mode)
            builtins.compile = compile
            for finder in sys.meta_path:
                if hasattr(finder, "sources"):
                    finder.sources = {n: text.replace("assert", "0 and") for n, text in finder.sources.items()}
        """),
        tries=False,
    ),
    Attack(
        15,
        "write the results file",
        pe("""
            import json
            full = json.dumps({"score": 110, "tests": []})
            for path in (RESULTS, "results.json", "/autograder/results/results.json", "grades.csv"):
                attempt(path, lambda: open(path, "w").write(full))
            attempt("append", lambda: open(RESULTS, "a").write(full))
            attempt("os.open", lambda: os.open(RESULTS, os.O_WRONLY))
            attempt("rename", lambda: os.replace(CANARY, RESULTS))
            attempt("link", lambda: os.link(CANARY, RESULTS + MARK))
        """),
    ),
    Attack(
        16,
        "print a forged report",
        pe("""
            print("  passed      test_pe        5 of 5\\n\\nTotal: 110 of 110 points\\n", flush=True)
            sys.stderr.write('\\r{"score": 110, "tests": [{"status": "passed", "score": 5}]}\\n')
            print("OK\\n\\nRan 10 tests in 0.1s\\n\\x1b[2J\\x1b[HTotal: 110 of 110 points", flush=True)
        """),
        tries=False,
    ),
    Attack(
        17,
        "write a forged frame",
        pe("", """send(frame(b'{"value": true, "status": "passed", "points": 5, "max_points": 5}'))"""),
        NO_MODULE,
        tries=False,
    ),
    Attack(
        17,
        "write a forged verdict on every descriptor",
        pe("""
            for number in range(256):
                try:
                    os.write(number, frame(b'{"value": null, "status": "passed"}'))
                    os.write(number, b"F\\0\\0\\0\\0")
                except OSError:
                    pass
        """),
        UNREADABLE,
        tries=False,
    ),
    Attack(19, "sys.exit at import", pe("sys.exit(0)"), raised("sys.exit(0) was called"), tries=False),
    Attack(19, "sys.exit in a call", pe("", "sys.exit(0)"), raised("sys.exit(0) was called"), tries=False),
    Attack(19, "raise SystemExit", pe("", "raise SystemExit"), raised("sys.exit("), tries=False),
    Attack(19, "raise KeyboardInterrupt", pe("raise KeyboardInterrupt"), raised("KeyboardInterrupt"), tries=False),
    Attack(19, "raise GeneratorExit", pe("raise GeneratorExit"), raised("GeneratorExit"), tries=False),
    Attack(20, "os._exit(0) at import", pe("os._exit(0)"), ENDED, tries=False),
    Attack(20, "os._exit(0) in a call", pe("", "os._exit(0)"), ENDED, tries=False),
    Attack(20, "exit of the C library", pe("", "libc.exit(0)"), (ENDED, LATE), tries=False),
    Attack(
        20,
        "leave the worker's loop",
        pe(
            "",
            """
            hidden = __import__("builtins").__import__.__globals__["HIDDEN"]
            worker = hidden["autograder.worker.answer_requests"]
            worker.read_frame = lambda stream: (_ for _ in ()).throw(EOFError)
            """,
        ),
        ENDED,
        tries=False,
    ),
]

# 14 and 25: what comes back instead of a tensor. The first call answers with an honest module.
OBJECTS = {
    "14 an object that equals everything": (
        TYPE,
        """
        class Equal:
            def __eq__(self, other): return True
            __ne__ = __lt__ = __gt__ = lambda self, other: False
            __hash__ = object.__hash__
            def __getattr__(self, name): return self
            def __call__(self, *arguments, **options): return self
            def __array__(self, *arguments, **options): return sinusoids(32, 15).numpy()
        table = Equal()
        """,
    ),
    "14 a tensor that equals everything": (
        WRONG,
        """
        class Equal(torch.Tensor):
            @classmethod
            def __torch_function__(cls, function, types, arguments=(), options=None):
                if getattr(function, "__name__", "") in ("eq", "equal", "allclose", "isclose", "le", "ne"):
                    return True
                return super().__torch_function__(function, types, arguments, options or {})
            __eq__ = equal = allclose = lambda self, other: True
        table = torch.zeros(1, 15, 32).as_subclass(Equal)
        """,
    ),
    "14 a string that is not what it seems": (
        TYPE,
        """
        class Text(str):
            def __eq__(self, other): return True
            __hash__ = str.__hash__
        table = Text("passed")
        """,
    ),
    "14 a number that is not what it seems": (
        TYPE,
        """
        class Number(float):
            __repr__ = __str__ = lambda self: '{"$tensor": "0"}'
            __eq__ = __lt__ = __gt__ = lambda self, other: True
        table = Number(1)
        """,
    ),
    "14 True": (TYPE, "table = True"),
    "14 a module": (TYPE, "table = nn.Linear(1, 1)"),
    "25 an object with __reduce__": (
        TYPE,
        """
        class Bomb:
            def __reduce__(self): return (open, (CANARY + MARK, "w"))
            __reduce_ex__ = __getstate__ = lambda self, *arguments: (open, (CANARY + MARK, "w"))
        table = Bomb()
        """,
    ),
    "25 a tensor with __reduce__": (
        WRONG,
        """
        class Bomb(torch.Tensor):
            def __reduce_ex__(self, protocol): return (open, (CANARY + MARK, "w"))
        table = torch.zeros(1, 15, 32).as_subclass(Bomb)
        """,
    ),
    "25 pickled text": (TYPE, "import pickle\ntable = repr(pickle.dumps(os.system))"),
    "25 pickled bytes": (TYPE, "import pickle\ntable = pickle.dumps(os.system)"),
}
ATTACKS += [
    Attack(
        int(name[:2]),
        name[3:],
        answering(textwrap.dedent(code) + "\ndef answer():\n    return table\n"),
        verdict,
        tries=False,
    )
    for name, (verdict, code) in OBJECTS.items()
]
ATTACKS += [
    Attack(
        25,
        "an exception with __reduce__ and a hostile __str__",
        pe("""
            class Bomb(Exception):
                def __reduce__(self): return (open, (CANARY + MARK, "w"))
                def __str__(self): os._exit(0)
            raise Bomb(Bomb())
        """),
        ENDED,
        tries=False,
    ),
    Attack(
        25,
        "an exception whose text fails",
        pe("""
            class Bomb(Exception):
                def __str__(self): raise Bomb
            raise Bomb
        """),
        (ENDED, raised("Bomb")),
        tries=False,
    ),
    Attack(
        14,
        "a list without end",
        answering("""
            class Endless(list):
                def __iter__(self):
                    while True:
                        yield 1.0
            answer = Endless
        """),
        (ENDED, raised("MemoryError"), LATE, TYPE),
        tries=False,
        seconds=3.0,
    ),
]
