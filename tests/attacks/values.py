"""Attacks by the values themselves: NaN, other types and shapes, remembered answers, changed inputs and globals."""

from tests.attacks.attack import DTYPE, ENDED, SHAPE, TYPE, VISIBLE, WRONG, Attack, Verdict, pe, raised, right_where

NAN, INFINITY = Verdict("failed", "contains NaN"), Verdict("failed", "contains infinity")
ZEROS = "(1, max_seq_length, d_model)"

TABLES = {
    (21, "NaN"): (NAN, f"torch.full({ZEROS}, float('nan'))"),
    (21, "NaN in one place"): (NAN, "sinusoids(d_model, max_seq_length).index_fill(2, torch.tensor(3), math.nan)"),
    (21, "NaN with a payload"): (NAN, f"torch.full({ZEROS}, 0x7FF8DEADBEEF0000).view(torch.float64)"),
    (22, "infinity"): (INFINITY, f"torch.full({ZEROS}, float('inf'))"),
    (22, "minus infinity"): (INFINITY, f"torch.full({ZEROS}, -math.inf)"),
    (22, "the largest number"): (WRONG, f"torch.full({ZEROS}, torch.finfo(torch.float64).max)"),
    (23, "float16"): (DTYPE, "sinusoids(d_model, max_seq_length).half()"),
    (23, "bfloat16"): (DTYPE, "sinusoids(d_model, max_seq_length).bfloat16()"),
    (23, "complex"): (DTYPE, "sinusoids(d_model, max_seq_length).to(torch.complex64)"),
    (23, "bool"): (DTYPE, f"torch.ones({ZEROS}, dtype=torch.bool)"),
    (23, "int64"): (DTYPE, f"torch.zeros({ZEROS}, dtype=torch.int64)"),
    (23, "uint16"): (DTYPE, f"torch.zeros({ZEROS}, dtype=torch.uint16)"),
    (23, "float8"): (DTYPE, f"torch.zeros({ZEROS}).to(torch.float8_e4m3fn)"),
    (24, "a scalar"): (SHAPE, "torch.zeros(())"),
    (24, "one element"): (SHAPE, "torch.zeros(1, 1, 1)"),
    (24, "one row"): (SHAPE, "torch.zeros(1, 1, d_model)"),
    (24, "no element"): (SHAPE, "torch.zeros(1, 0, d_model)"),
    (24, "more axes"): (SHAPE, "torch.zeros(1, 1, max_seq_length, d_model)"),
    (24, "a repeated view"): (WRONG, f"torch.zeros(1, 1, 1).expand{ZEROS}"),
    (24, "64 axes"): (SHAPE, "torch.zeros([1] * 64)"),
}
ATTACKS = [
    Attack(
        number, name, pe("", f"table = {table}"), verdict, tries=False, earned=2 if name == "NaN in one place" else 0
    )
    for (number, name), (verdict, table) in TABLES.items()
]

# torch itself refuses to hold some of these as a buffer or to copy them; then it is an error of the student's code.
STRANGE = {
    (24, "70 axes"): "torch.zeros([1] * 70)",
    (24, "no element of a huge shape"): "torch.zeros(0).as_strided((0, 2**40, 2**40), (1, 1, 1))",
    (23, "a sparse tensor"): f"torch.zeros{ZEROS}.to_sparse()",
    (23, "a tensor without storage"): f"torch.zeros({ZEROS}, device='meta')",
    (23, "a quantized tensor"): f"torch.quantize_per_tensor(torch.zeros({ZEROS}).float(), 1.0, 0, torch.qint8)",
    (23, "a nested tensor"): "torch.nested.nested_tensor([torch.zeros(3, 2), torch.zeros(2, 2)])",
    (23, "a lazy conjugate"): f"torch.zeros({ZEROS}, dtype=torch.complex64).conj()",
    (27, "as many booleans as a frame holds"): "torch.zeros(60_000_000, dtype=torch.bool)",
    (27, "a huge view of one number"): "torch.zeros(1).expand(2**50)",
}
ATTACKS += [
    Attack(
        number,
        name,
        pe("", f"table = {table}"),
        (TYPE, DTYPE, SHAPE, WRONG, ENDED, raised(""), Verdict("failed", "holds")),
        tries=False,
    )
    for (number, name), table in STRANGE.items()
]

ATTACKS += [
    Attack(
        31,
        "hard-coded visible cases",
        right_where(VISIBLE, "return x"),
        tries=False,
        hidden=True,
        earned=3,
    ),
    Attack(
        32,
        "replay of the first output",
        pe(
            "FIRST = {}",
            "table = sinusoids(d_model, max_seq_length)",
            """
            if x.size(1) > self.max_seq_length:
                raise ValueError("too long")
            y = x + self.pe[:, : x.size(1)]
            first = FIRST.setdefault("output", y)
            return first if first.numel() == y.numel() else first.flatten()[: y.numel()]
            """,
        ),
        (WRONG, SHAPE),
        tries=False,
        hidden=True,
        earned=3,
    ),
    Attack(
        33,
        "change the input in place",
        right_where(VISIBLE, "return x.add_(self.pe[:, : x.size(1)])"),
        Verdict("failed", "modifies x, one of its arguments"),
        tries=False,
        hidden=True,
        earned=4,
    ),
    Attack(
        33,
        "change the globals of torch",
        pe("""
            import gc, random, numpy
            torch.set_default_dtype(torch.float16)
            torch.set_grad_enabled(False)
            torch.use_deterministic_algorithms(True)
            torch.set_num_threads(64)
            torch.manual_seed(0)
            torch.softmax = torch.matmul = torch.Tensor.__add__ = torch.Tensor.__matmul__ = lambda *a, **k: a[0]
            nn.Linear.forward = nn.LayerNorm.forward = lambda self, x: x
            nn.Module.__call__ = lambda self, *arguments: arguments[0]
            numpy.seterr(all="raise")
            gc.disable()
        """),
        (WRONG, DTYPE, TYPE),
        tries=False,
    ),
    Attack(
        33,
        "change other modules and what Python has loaded",
        pe("""
            import linecache
            for name in ("mha", "encoder", "decoder", "transformer", "standin_mha"):
                sys.modules[name] = sys.modules[__name__]
            for name in [name for name in sys.modules if name.startswith(("numpy", "json", "autograder."))]:
                del sys.modules[name]
            sys.path.clear()
            sys.meta_path.clear()
            linecache.cache.clear()
            os.environ.clear()
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        """),
        (WRONG, raised("")),
        tries=False,
    ),
]
