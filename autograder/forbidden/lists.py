"""The names that graded modules must not use, and the modules in which only some names are harmless; see `rules`."""

import ast
import re


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Ready-made parts. Only torch uses the first names; students may use the others for their own classes.
READY = re.compile(
    r"MultiheadAttention|_?scaled_dot_product\w*attention\w*|multi_head_attention_forward|flex_attention"
)
READY_OR_OWN = re.compile(r"Transformer((En|De)coder(Layer)?)?")
OF_TORCH = re.compile(r"(?i)\w*(attention|transformer|sdpa?(_|$))\w*")  # anything in torch with such a name
MASK = "generate_square_subsequent_mask"  # from nn.Transformer: the course itself provides it, so it is only noted
PARTS_OF_TORCH = {
    f"torch.{part}"
    for part in _words(
        """ops _C _ops _VF _refs onnx ao hub package classes library utils.cpp_extension jit.CompilationUnit jit.script
        jit.script_method jit.ScriptModule"""
    )
}
# The modules of torch, by the last part of their names. Other names in torch may be passed around as values.
MODULES_OF_TORCH = _words(
    """F accelerator activation amp attention autograd backends batchnorm classes clip_grad compiler container conv
    convert_parameters cpu cuda distributed distributions export fft func functional futures fx hub init instancenorm
    jit library linalg loss lr_scheduler masked modules monitor mps multiprocessing nested nn normalization optim
    overrides package parallel parametrizations parametrize pooling profiler quantization quasirandom random
    return_types rnn serialization signal sparse special storage testing torch_version transformer types utils"""
)
PACKAGES_OF_TORCH = _words("torch.nn.modules torch.optim torch.utils")  # whose names in lower case are modules
UNUSUAL_IN_TORCH = {f"torch.{name}" for name in _words("load jit fx export overrides serialization get_device_module")}

USUAL = _words(
    """__future__ abc bisect cmath collections contextlib copy dataclasses einops enum functools gc heapq inspect
    itertools logging math matplotlib numbers numpy operator random re string sys time torch tqdm traceback types typing
    typing_extensions warnings"""
)
# The modules that a submission can import when it is graded, besides the standard library and its own.
LIBRARIES = _words("course einops functorch matplotlib mpl_toolkits numpy pylab torch tqdm typing_extensions")
# Names of the standard library's modules that libraries have for parts of their own.
OF_LIBRARIES = _words(
    "array chunk code copy multiprocessing profile random select signal string struct test token trace types typing uu"
)
# The modules of libraries that this course needs. The others have functions that read names from strings.
USUAL_MODULES = _words(
    """course einops einops.layers.torch functorch matplotlib matplotlib.cm matplotlib.colors matplotlib.pyplot
    matplotlib.pyplot.style matplotlib.ticker numpy numpy.fft numpy.linalg numpy.random numpy.testing numpy.typing torch
    torch.amp torch.autograd torch.autograd.functional torch.backends torch.cuda torch.fft torch.func torch.functional
    torch.linalg torch.mps torch.nn torch.nn.functional torch.nn.init torch.nn.modules torch.nn.parameter torch.nn.utils
    torch.nn.utils.parametrizations torch.nn.utils.rnn torch.optim torch.optim.lr_scheduler torch.optim.optimizer
    torch.profiler torch.random torch.special torch.testing torch.types torch.utils torch.utils.data tqdm tqdm.auto
    tqdm.notebook typing_extensions"""
)
READY_LIBRARIES = _words(
    """fairseq flash_attn flax jax keras tensorflow timm torchaudio torchtext torchtune torchvision transformers
    x_transformers xformers"""
)
# Modules that lead from a string to any loaded module, or to the grader's own modules.
LEADING_ANYWHERE = _words("autograder builtins cffi code codeop ctypes imp importlib pkgutil pydoc runpy zipimport")
# The names that are harmless, or forbidden, in commonly used modules.
HARMLESS_IN = {
    "gc": _words("collect disable enable isenabled freeze unfreeze get_count get_stats get_threshold set_threshold"),
    "inspect": _words("signature Parameter Signature cleandoc getdoc isclass isfunction ismethod ismodule"),
}
# Information about a frame: `inspect.currentframe().f_back.f_code.co_name` is the caller's name.
TOLD_BY_FRAMES = _words("co_name co_filename co_firstlineno f_lineno")
FORBIDDEN_IN = {
    "sys": {"modules", "_getframe", "meta_path", "path_hooks", "settrace", "setprofile", "_current_frames"},
    "logging": {"config"},
    "pickle": {"load", "loads", "Unpickler"},
    "types": {"CodeType"},
    "typing": {"get_type_hints"},
    "typing_extensions": {"get_type_hints"},
    "testing": {"measure", "rundocs", "runstring"},  # of NumPy
}
TYPES = _words(
    """AbstractSet Annotated Any AnyStr BinaryIO Callable ClassVar Collection Concatenate Container Counter DefaultDict
    Deque Dict Final FrozenSet Generator Generic Hashable IO ItemsView Iterable Iterator KeysView List Literal
    LiteralString Mapping MutableMapping MutableSequence MutableSet NamedTuple Never NewType NoReturn NotRequired
    Optional OrderedDict ParamSpec Pattern Protocol Required Reversible Self Sequence Set Sized SupportsAbs
    SupportsFloat SupportsIndex SupportsInt SupportsRound TYPE_CHECKING Text TextIO Tuple Type TypeAlias TypeGuard
    TypeVar TypeVarTuple TypedDict Union Unpack ValuesView assert_never assert_type cast final no_type_check overload
    override reveal_type runtime_checkable"""
)
# They call or change objects whose names the search does not see, or evaluate strings.
NOTED_IN = {
    "testing": {"decorate_methods"},
    "numpy": {"ctypeslib", "f2py", "distutils", "core", "lib", "compat"},
}
# The names of these modules that need no note; the rest leads to frames, classes, or the evaluation of strings.
USUAL_IN = {
    "abc": _words("ABC abstractmethod"),
    "contextlib": _words(
        "AbstractContextManager ContextDecorator ExitStack closing contextmanager nullcontext suppress"
    ),
    "copy": _words("copy deepcopy"),
    "dataclasses": _words("dataclass field fields asdict astuple replace is_dataclass FrozenInstanceError KW_ONLY"),
    "enum": _words("Enum IntEnum StrEnum Flag IntFlag auto unique"),
    "functools": _words(
        """cache cached_property cmp_to_key lru_cache partial partialmethod reduce singledispatch singledispatchmethod
        total_ordering wraps"""
    ),
    "string": _words(
        """ascii_letters ascii_lowercase ascii_uppercase capwords digits hexdigits octdigits printable punctuation
        whitespace"""
    ),
    "sys": _words(
        """argv byteorder exit flush float_info getrecursionlimit getsizeof hash_info int_info intern maxsize path
        platform setrecursionlimit stderr stdin stdout version version_info"""
    ),
    "torch.utils.data": _words(
        """BatchSampler ConcatDataset DataLoader Dataset IterableDataset RandomSampler Sampler SequentialSampler
        StackDataset Subset TensorDataset WeightedRandomSampler default_collate random_split"""
    ),
    "types": _words("EllipsisType GeneratorType MappingProxyType MethodType NoneType SimpleNamespace UnionType"),
    "typing": TYPES,
    "typing_extensions": TYPES,
}
CALLS_BY_STRING = {"eval", "exec", "compile", "__import__", "__builtins__", "__loader__", "__spec__"}
# Functions that take a library as an argument without exposing it, or that have their own rule.
ASKED_ABOUT = {"hasattr", "vars", "getattr", "setattr", "delattr"}
# Functions that open files, in any module; in libraries, load and save open files too.
FILES = _words(
    """open read_text read_bytes write_text write_bytes fromfile tofile from_file loadtxt genfromtxt savetxt memmap
    open_memmap DataSource FileHandler FileIO fopen imread urlopen load_library"""
)
FILES_OF_LIBRARIES = {"load", "save"}
NAMESPACES = {"globals", "locals", "vars"}
HOOKS = _words(
    """__match_args__ __instancecheck__ __subclasscheck__ __subclasshook__ __torch_function__ __torch_dispatch__
    __array_interface__ __array_struct__ __module__ __dict__ __reduce__ __reduce_ex__ __getstate__ __setstate__"""
)
# In any module: they hand every operation to their owner, read attributes or import modules by their names, or read and
# write memory without a check.
NOTED_ANYWHERE = _words(
    """TorchDispatchMode TorchFunctionMode attrgetter methodcaller getp ParameterDict ParameterList TypedStorage
    UntypedStorage frombuffer from_dlpack sparse_csr_tensor sparse_csc_tensor sparse_bsr_tensor
    sparse_bsc_tensor sparse_compressed_tensor"""
)
BY_NAME = {"getattr", "setattr", "delattr"}
LEADING_ATTRIBUTES = _words(
    """__globals__ __builtins__ __subclasses__ __loader__ __spec__ f_globals f_builtins f_locals f_back
    tb_frame gi_frame cr_frame ag_frame gi_code cr_code ag_code cell_contents"""
)
# As above, but only noted if the student has defined the name.
LEADING_OR_OWN = _words(
    """_C _VF _ops _refs _getframe _current_frames meta_path path_hooks settrace setprofile get_type_hints
    builtins importlib ctypes cpp_extension CompilationUnit get_field eval_str"""
)
USUAL_PRIVATE = _words("_version _parameters _buffers _modules _replace _asdict _fields")  # of tensors, modules, tuples
# Only noted, since other objects may have attributes of these names.
MODULES_BEHIND = {"sys", "gc", "inspect", "torch", "ops", "attrgetter", "methodcaller", "obj", "register"}
USUAL_DUNDERS = _words(
    """__init__ __call__ __name__ __class__ __doc__ __version__ __len__ __getitem__ __setitem__ __iter__ __next__
    __repr__ __str__ __enter__ __exit__ __eq__ __post_init__ __qualname__ __setattr__ __add__ __mul__ __matmul__
    __new__"""
)
DUNDERS_IN_STRINGS = _words("__main__ __all__ __file__ __module__ __dict__ __annotations__")  # as messages name them


# The kinds of nodes that have rules: the methods of `Search` with these names.
RULES: tuple[type[ast.AST], ...] = (
    *(ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Attribute, ast.Name, ast.Call, ast.Subscript),
    *(ast.MatchClass, ast.Constant, ast.BinOp, ast.JoinedStr),
)
