"""A search for ready-made attention in a worker: everything that looks like it is called, and its result looked at.

This is the text of a module that a worker loads. `by_attributes` goes where names lead, from every module that is left;
`by_memory` calls every function that Python knows, and `by_operators` every operator of torch.
"""

TEXT = '''
import gc
import inspect
import sys
import types
import warnings

import torch

warnings.simplefilter("ignore")
NAMES = ("attention", "attn", "sdpa", "multihead", "multi_head")
torch.manual_seed(0)
Q, K, V = (torch.rand(1, 2, 4, 8) for _ in range(3))
VALUES = {"query": Q, "key": K, "value": V, "q": Q, "k": K, "v": V}
ANSWERS = [torch.softmax(Q @ K.transpose(-1, -2) * scale, dim=-1) @ V for scale in (1.0, 8**-0.5)]
OTHERS = {
    "score_mod": lambda score, *_: score,
    "block_mask": (None,) * 12 + (lambda *_: torch.ones((), dtype=torch.bool),),
    "scale": 1.0,
    "kernel_options": {},
    "score_mod_other_buffers": (),
    "mask_mod_other_buffers": (),
    "dropout_p": 0.0,
    "is_causal": False,
    "dropout": 0.0,
    "inv_scale": 1.0,
    "scale_factor": 1.0,
}


def mapped(function, prefix, suffix=(), **_):
    """A part of torch that is not loaded, and that its attention asks for: a cheater can write it in four lines."""
    for at in (3, 2, 1, 0):
        axes = tuple(0 if place == at else None for place in range(4))
        function = torch.vmap(function, in_dims=prefix + axes + suffix)
    return function


sys.modules["torch.nn.attention.flex_attention"] = types.SimpleNamespace(_vmap_for_bhqkv=mapped)


def looks(function):
    code = function.__code__
    names = {name.lower() for name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]}
    called = any(name in function.__qualname__.lower() for name in NAMES)
    return called or {"query", "key", "value"} <= names or {"q", "k", "v"} <= names


def answers(result):
    """Whether something is the result of attention, or holds it."""
    if isinstance(result, torch.Tensor):
        same = result.shape == Q.shape and result.dtype == Q.dtype and result.device == Q.device
        return same and any(torch.allclose(result, answer, atol=1e-4) for answer in ANSWERS)
    return isinstance(result, (tuple, list)) and any(map(answers, result))


def attends(call, names):
    """Whether a call with queries, keys and values, and what else it wants, is attention."""
    given = {}
    for name, default in names:
        if name.lower() in VALUES:
            given[name] = VALUES[name.lower()]
        elif default is inspect.Parameter.empty:
            given[name] = OTHERS.get(name)
    # One of what has a default may choose another way to compute it.
    others = [{**given, name: 1} for name, default in names if name not in given]
    ways = [(list(given.values()), {}), ([Q, K, V], {}), ([None, Q, K, V], {})]
    ways += [([], way) for way in (given, *others)]
    for arguments, keywords in ways:
        for one in (call, batched(call)):
            try:
                if answers(one(*arguments, **keywords)):
                    return True
            except BaseException:
                pass
    return False


def batched(call):
    """A call under `torch.vmap`, for which operators have kernels of their own."""
    return torch.vmap(lambda *args, **kwargs: call(*args, **kwargs), randomness="same")


def parameters(function):
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [(one.name, one.default) for one in found if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)]


def tried(functions):
    """How many look like attention, and which are."""
    looking = [one for one in functions if looks(one)]
    found = {f"{one.__module__}.{one.__qualname__}" for one in looking if attends(one, parameters(one))}
    return [len(looking), sorted(found)]


def is_torch(name):
    return str(name).partition(".")[0] == "torch"


def by_attributes():
    todo = [module for name, module in list(sys.modules.items()) if is_torch(name)]
    seen, functions = set(), []
    while todo:
        one = todo.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, types.FunctionType):
            if is_torch(one.__module__):
                functions.append(one)
                todo.append(one.__dict__.get("__wrapped__"))
        elif isinstance(one, types.ModuleType) and is_torch(one.__name__):
            todo += vars(one).values()
        elif issubclass(type(one), type) and is_torch(one.__module__):
            todo += [getattr(value, "__func__", value) for value in vars(one).values()]
        elif type(one) in (dict, list, tuple):
            todo += list(one.values()) if type(one) is dict else one
    return tried(functions)


def by_memory():
    gc.unfreeze()  # what was there before the fork
    return tried([one for one in gc.get_objects() if type(one) is types.FunctionType and is_torch(one.__module__)])


def by_operators():
    found, count = [], 0
    for schema in torch._C._jit_get_all_schemas():
        names = {one.name.lower() for one in schema.arguments}
        if not ({"query", "key", "value"} <= names or {"q", "k", "v"} <= names):
            continue
        space, _, name = schema.name.partition("::")
        count += 1
        try:
            call = getattr(getattr(getattr(torch.ops, space), name), schema.overload_name or "default")
        except BaseException:
            continue
        empty = inspect.Parameter.empty
        wanted = [(one.name, one.default_value if one.has_default_value() else empty) for one in schema.arguments]
        if attends(call, wanted):
            found.append(schema.name)
    return [count, sorted(set(found))]


def torch_modules():
    return [name for name, module in sys.modules.items() if is_torch(name) and isinstance(module, types.ModuleType)]


def public_attention():
    """What still attends, if the answers are looked for rightly."""
    return attends(lambda query, key, value: ANSWERS[0], [(name, None) for name in ("query", "key", "value")])
'''
# Words that make a worker load more of torch.
LOADS = "# optim profile use_deterministic_algorithms distributions assert_close make_dual nested resize\n"
