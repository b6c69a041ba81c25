"""Known mistakes in stage 4: optimizers."""

from typing import Any

from autograder.diagnosis.mistakes import Mistake

# Lines of the reference. The two optimizers share some lines, so these come with a neighbouring line.
ADAMW_START = """for group in self.param_groups:
            beta1, beta2 = group["betas"]"""
ADAMW_SKIP = """beta1, beta2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]"""
COUNT = 'state["t"] += 1'
MEAN = 'state["m"] = beta1 * state["m"] + (1 - beta1) * p.grad'
SQUARES = 'state["v"] = beta2 * state["v"] + (1 - beta2) * p.grad.square()'
CORRECT_M = 'm = state["m"] / (1 - beta1 ** state["t"])'
CORRECT_V = 'v = state["v"] / (1 - beta2 ** state["t"])'
DECAY = 'p -= group["lr"] * group["weight_decay"] * p'
ADAMW_MOVE = 'p -= group["lr"] * m / (v.sqrt() + group["eps"])'
ADAMW_BOTH = f"{DECAY}\n                {ADAMW_MOVE}"
ADAMW_ALL = "\n                ".join([MEAN, SQUARES, CORRECT_M, CORRECT_V, DECAY])
NUMBERS = "a, b, c = 3.4445, -4.7750, 2.0315\n    X"
NORM = "X = G / (G.norm() + 1e-7)"
REPEAT = "for _step in range(steps):"
STEP = "X = a * X + (b * A + c * A @ A) @ X"
BACK = "return X.T if tall else X"
MUON_SKIP = """for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]"""
MOMENTUM = 'state["u"] = group["momentum"] * state["u"] + p.grad'
DIRECTION = 'direction = orthogonalise(p.grad + group["momentum"] * state["u"], group["steps"])'
MUON_MOVE = 'p -= group["lr"] * max(1, p.size(0) / p.size(1)) ** 0.5 * direction'
MUON_BOTH = f"{DECAY}\n                {MUON_MOVE}"
EMBEDDINGS = "embeddings = {id(module.weight) for module in model.modules() if isinstance(module, nn.Embedding)}"
LOOP = "for parameter in model.parameters():"
SORT = "(hidden if parameter.dim() == 2 and id(parameter) not in embeddings else others).append(parameter)"
WARMUP = "if step < warmup:\n        return (step + 1) / warmup"
END = "if step >= total:\n        return floor"
FALL = "return floor + (1 - floor) * (total - step) / decay"
STAY = "if step < total - decay:\n        return 1.0"

FORMULA = "Compare your line with the formula in the docstring, symbol by symbol."
STATE = "The docstring says where the state of a parameter is kept. What would a saved optimizer lose?"
MISSING = "The docstring says what happens to a parameter without a gradient."
GROUP = "Options may differ between groups and change between steps. Where does the docstring say they are?"
SCALE = (
    "A product of the matrix with itself has n rows and n columns. What do the powers of a matrix do to its singular "
    "values?"
)
BORDERS = "Compute the factor by hand for the first and the last step of each phase."
TYPE = "The docstring sorts by two criteria. A name is neither of them."


def _optim(name: str, old: str, new: str, looks_like: str, read_again: str, **options: Any) -> Mistake:
    return Mistake(f"optim.{name}", "optim", old, new, looks_like, read_again, **options)


MISTAKES: tuple[Mistake, ...] = (
    _optim(
        "adamw-decay-in-the-gradient",
        ADAMW_ALL,
        'grad = p.grad + group["weight_decay"] * p\n                '
        + ADAMW_ALL.replace("p.grad", "grad").removesuffix(DECAY),
        "You add the weight decay to the gradient, so both means contain it.",
        "AdamW was invented to avoid this. The docstring says what the decay does not use.",
    ),
    _optim(
        "adamw-decay-without-rate",
        ADAMW_BOTH,
        ADAMW_BOTH.replace(DECAY, 'p -= group["weight_decay"] * p'),
        "Your weight decay does not depend on the learning rate.",
        FORMULA,
    ),
    _optim("adamw-no-decay", ADAMW_BOTH, ADAMW_MOVE, "You apply no weight decay.", FORMULA),
    _optim(
        "adamw-decay-added",
        ADAMW_BOTH,
        ADAMW_BOTH.replace("p -= ", "p += ", 1),
        "Your weight decay makes the weights larger.",
        FORMULA,
    ),
    _optim(
        "adamw-no-correction",
        f"{CORRECT_M}\n                {CORRECT_V}",
        'm, v = state["m"], state["v"]',
        "You use both means without correcting them.",
        "Both means start at 0, so after the first step they are much too small. Which factor corrects that?",
    ),
    _optim(
        "adamw-mean-not-corrected",
        CORRECT_M,
        'm = state["m"]',
        "You do not correct the mean of the gradients.",
        FORMULA,
    ),
    _optim(
        "adamw-squares-not-corrected",
        CORRECT_V,
        'v = state["v"]',
        "You do not correct the mean of the squares.",
        FORMULA,
    ),
    _optim(
        "adamw-corrected-mean-kept",
        CORRECT_M,
        'm = state["m"] = state["m"] / (1 - beta1 ** state["t"])',
        "You store the corrected mean, so the next step corrects it again.",
        "The correction is for this step only. The stored mean stays uncorrected.",
    ),
    _optim(
        "adamw-one-counter",
        COUNT,
        'group["t"] = group.get("t", 0) + 1\n                state["t"] = group["t"]',
        "All parameters share one step counter, so it increases several times per step.",
        "Each parameter has its own t. It counts the steps in which this parameter moved.",
    ),
    _optim(
        "adamw-counts-from-zero",
        COUNT,
        "pass",
        "Your step counter starts at 0, and the correction divides by 0.",
        "The docstring says which number the first step has.",
    ),
    _optim(
        "adamw-eps-inside-the-root",
        ADAMW_MOVE,
        ADAMW_MOVE.replace('(v.sqrt() + group["eps"])', '(v + group["eps"]).sqrt()'),
        "You add eps before you take the root.",
        "For a tiny gradient, eps has a much larger effect inside the root. See the last line of the formula.",
    ),
    _optim(
        "adamw-no-root",
        ADAMW_MOVE,
        ADAMW_MOVE.replace("v.sqrt()", "v"),
        "You divide by the mean of the squares instead of its root.",
        FORMULA,
    ),
    _optim(
        "adamw-no-eps",
        ADAMW_MOVE,
        ADAMW_MOVE.replace('(v.sqrt() + group["eps"])', "v.sqrt()"),
        "You leave out eps.",
        FORMULA,
    ),
    _optim(
        "adamw-betas-exchanged",
        ADAMW_START,
        ADAMW_START.replace("beta1, beta2 =", "beta2, beta1 ="),
        "You swap the two betas.",
        "The first beta belongs to the mean of the gradients.",
    ),
    _optim(
        "adamw-sum-of-gradients",
        MEAN,
        MEAN.replace("(1 - beta1) * ", ""),
        "Your mean of the gradients is a sum: the weights of the old and new terms do not add up to 1.",
        FORMULA,
    ),
    _optim(
        "adamw-gradient-instead-of-mean",
        CORRECT_M,
        "m = p.grad",
        "You move along the gradient instead of the mean of the gradients.",
        FORMULA,
    ),
    _optim(
        "adamw-not-squared",
        SQUARES,
        SQUARES.replace("square()", "abs()"),
        "Your second mean is not the mean of the squares.",
        FORMULA,
    ),
    _optim(
        "adamw-missing-gradient-is-zero",
        ADAMW_SKIP,
        ADAMW_SKIP.replace("continue", "p.grad = torch.zeros_like(p)"),
        "A parameter without a gradient moves.",
        MISSING,
    ),
    _optim(
        "adamw-missing-gradient-ends-the-step",
        ADAMW_SKIP,
        ADAMW_SKIP.replace("continue", "break"),
        "After a parameter without a gradient, you leave out the rest of its group.",
        MISSING,
    ),
    _optim(
        "adamw-rate-of-the-constructor",
        ADAMW_BOTH,
        ADAMW_BOTH.replace('group["lr"]', 'self.defaults["lr"]'),
        "You use the learning rate that was passed to the constructor.",
        GROUP,
    ),
    _optim(
        "adamw-first-group-only",
        ADAMW_START,
        ADAMW_START.replace("self.param_groups:", "self.param_groups[:1]:"),
        "Only the first group of parameters moves.",
        GROUP,
    ),
    _optim(
        "adamw-state-not-saved",
        ADAMW_SKIP,
        ADAMW_SKIP.replace("self.state[p]", 'self.__dict__.setdefault("kept", {}).setdefault(p, {})'),
        "After saving and loading, your optimizer has forgotten its means.",
        STATE,
    ),
    _optim(
        "adamw-gradient-changed",
        SQUARES,
        SQUARES.replace("square()", "square_()"),
        "The step is right, but it changes the gradient.",
        "Methods whose names end in an underscore work in place. The docstring says what must not change.",
    ),
    _optim(
        "orthogonalise-spectral-norm",
        NORM,
        NORM.replace("G.norm()", "torch.linalg.matrix_norm(G, ord=2)"),
        "You divide by the largest singular value instead of the Frobenius norm.",
        "The docstring defines the norm: the root of a sum.",
    ),
    _optim(
        "orthogonalise-norm-of-rows",
        NORM,
        NORM.replace("G.norm()", "G.norm(dim=1, keepdim=True)"),
        "You normalise each row separately.",
        "The whole matrix has a single norm. Dividing each row by a different number changes the singular vectors.",
    ),
    _optim(
        "orthogonalise-not-normalised",
        NORM,
        "X = G",
        "You do not divide by the norm first, so large matrices explode.",
        "The iteration works only for singular values up to about 1.",
    ),
    _optim(
        "orthogonalise-zeros-nan",
        NORM,
        "X = G / G.norm()",
        "A matrix of zeros becomes NaN.",
        "What is its norm? The docstring adds a small number to it.",
    ),
    _optim(
        "orthogonalise-one-step-less",
        REPEAT,
        "for _ in range(steps - 1):",
        "You do one step too few.",
        "Count your steps.",
    ),
    _optim(
        "orthogonalise-other-numbers",
        NUMBERS,
        "a, b, c = 1.5, -0.5, 0.0\n    X",
        "You use the coefficients of the classic iteration.",
        "Muon's three coefficients are in the docstring. They are chosen for speed.",
    ),
    _optim(
        "orthogonalise-elementwise",
        STEP,
        STEP.replace("A @ A", "A * A"),
        "You square the elements of A instead of multiplying the matrix by itself.",
        SCALE,
    ),
    _optim(
        "orthogonalise-first-term-missing",
        STEP,
        "X = (b * A + c * A @ A) @ X",
        "You leave out the term with X itself.",
        FORMULA,
    ),
    _optim(
        "orthogonalise-last-term-missing",
        STEP,
        "X = a * X + b * A @ X",
        "You leave out the term with the product of A with itself.",
        FORMULA,
    ),
    _optim(
        "orthogonalise-not-transposed-back",
        BACK,
        "return X",
        "For a tall matrix, your result is wide.",
        "The docstring says what happens to the result of a transposed matrix.",
    ),
    _optim(
        "muon-no-nesterov",
        DIRECTION,
        DIRECTION.replace('p.grad + group["momentum"] * state["u"]', 'state["u"]'),
        "You orthogonalise the momentum itself.",
        "In Nesterov's variant, the gradient is added once more. See the docstring.",
    ),
    _optim(
        "muon-plain-gradient",
        DIRECTION,
        DIRECTION.replace('p.grad + group["momentum"] * state["u"]', "p.grad"),
        "Your momentum has no effect.",
        FORMULA,
    ),
    _optim(
        "muon-momentum-as-mean",
        MOMENTUM,
        MOMENTUM.replace("+ p.grad", '+ (1 - group["momentum"]) * p.grad'),
        "Your momentum is a mean of gradients instead of their sum.",
        FORMULA,
    ),
    _optim(
        "muon-lookahead-kept",
        DIRECTION,
        'state["u"] = p.grad + group["momentum"] * state["u"]\n                '
        'direction = orthogonalise(state["u"], group["steps"])',
        "You store the look-ahead as the momentum.",
        "The look-ahead is for this step only. The stored momentum does not contain it.",
    ),
    _optim(
        "muon-momentum-after",
        f"{MOMENTUM}\n                {DIRECTION}",
        'state["u"] = group["momentum"] * state["u"] + orthogonalise(p.grad, group["steps"])\n                '
        'direction = state["u"]',
        "You add up orthogonalised gradients.",
        "The momentum adds up plain gradients; their sum is orthogonalised.",
    ),
    _optim(
        "muon-not-scaled",
        MUON_MOVE,
        'p -= group["lr"] * direction',
        "You do not scale the step of a tall matrix.",
        FORMULA,
    ),
    _optim(
        "muon-scaled-by-columns",
        MUON_MOVE,
        MUON_MOVE.replace("p.size(0) / p.size(1)", "p.size(1) / p.size(0)"),
        "You scale wide matrices instead of tall ones.",
        "Which of the two sizes is n? See the first line of the docstring.",
    ),
    _optim(
        "muon-scaled-without-maximum",
        MUON_MOVE,
        MUON_MOVE.replace("max(1, p.size(0) / p.size(1))", "(p.size(0) / p.size(1))"),
        "You make the step of a wide matrix smaller.",
        FORMULA,
    ),
    _optim(
        "muon-scale-without-root",
        MUON_MOVE,
        MUON_MOVE.replace(" ** 0.5", ""),
        "You scale by the ratio of the sizes instead of its root.",
        FORMULA,
    ),
    _optim("muon-no-decay", MUON_BOTH, MUON_MOVE, "You apply no weight decay.", FORMULA),
    _optim(
        "muon-rate-of-the-constructor",
        MUON_BOTH,
        MUON_BOTH.replace('group["lr"]', 'self.defaults["lr"]'),
        "You use the learning rate that was passed to the constructor.",
        GROUP,
    ),
    _optim(
        "muon-steps-of-the-default",
        DIRECTION,
        DIRECTION.replace(', group["steps"]', ""),
        "You always do five steps of the iteration.",
        "The number of steps is an option of the group.",
    ),
    _optim(
        "muon-missing-gradient-is-zero",
        MUON_SKIP,
        MUON_SKIP.replace("continue", "p.grad = torch.zeros_like(p)"),
        "A matrix without a gradient moves.",
        MISSING,
    ),
    _optim(
        "muon-state-starts-again",
        MOMENTUM,
        'state["u"] = p.grad.clone()',
        "Your momentum is always the last gradient.",
        "The momentum of the last step must survive until the next one.",
        same_as=("optim.muon-plain-gradient",),
    ),
    _optim(
        "muon-state-not-saved",
        MUON_SKIP,
        MUON_SKIP.replace("self.state[p]", 'self.__dict__.setdefault("kept", {}).setdefault(p, {})'),
        "After saving and loading, your optimizer has forgotten its momentum.",
        STATE,
        seen_by="hidden",
    ),
    _optim(
        "split-embedding-for-muon",
        SORT,
        "(hidden if parameter.dim() == 2 else others).append(parameter)",
        "You assign the embedding to Muon.",
        "The docstring names an exception: a table whose rows are looked up, never multiplied.",
    ),
    _optim(
        "split-by-name",
        f"{LOOP}\n        {SORT}",
        "for name, parameter in model.named_parameters():\n        "
        '(hidden if parameter.dim() == 2 and "embed" not in name else others).append(parameter)',
        "You recognise embeddings by their names.",
        TYPE,
    ),
    _optim(
        "split-all-but-vectors",
        SORT,
        SORT.replace("parameter.dim() == 2", "parameter.dim() >= 2"),
        "You assign a parameter with three axes to Muon.",
        "How many axes does a matrix have?",
    ),
    _optim(
        "split-linear-layers-only",
        EMBEDDINGS,
        EMBEDDINGS
        + "\n    linear = {id(layer.weight) for layer in model.modules() if isinstance(layer, nn.Linear)}"
        + "\n    embeddings |= {id(p) for p in model.parameters() if id(p) not in linear}",
        "A matrix outside a linear layer is missing from the list for Muon.",
        TYPE,
    ),
    _optim(
        "split-shared-twice",
        LOOP,
        "for _, parameter in model.named_parameters(remove_duplicate=False):",
        "A shared parameter is in your lists twice.",
        "It would move twice in each step. The docstring says how often each parameter appears.",
    ),
    _optim(
        "split-shared-for-muon",
        EMBEDDINGS,
        EMBEDDINGS
        + "\n    embeddings -= {id(layer.weight) for layer in model.modules() if isinstance(layer, nn.Linear)}",
        "You assign an embedding to Muon if a linear layer shares it.",
        "The docstring says what a shared parameter counts as.",
    ),
    _optim(
        "wsd-warmup-starts-at-zero",
        WARMUP,
        WARMUP.replace("(step + 1)", "step"),
        "Your first factor is 0, so the first step changes nothing.",
        BORDERS,
    ),
    _optim(
        "wsd-no-warmup-divides-by-zero",
        WARMUP,
        "if (step + 1) / warmup < 1:\n        return (step + 1) / warmup",
        "With a warm-up of 0 steps, you divide by 0.",
        "The docstring allows 0 steps. Then no step belongs to the warm-up.",
    ),
    _optim(
        "wsd-decay-one-early",
        FALL,
        FALL.replace("(total - step)", "(total - step - 1)"),
        "Your factor falls one step too early.",
        BORDERS,
    ),
    _optim(
        "wsd-floor-ignored",
        FALL,
        "return (total - step) / decay",
        "Your factor falls towards 0 instead of the floor.",
        FORMULA,
    ),
    _optim(
        "wsd-floor-added",
        FALL,
        "return floor + (total - step) / decay",
        "Your factor jumps above 1 when the decay begins.",
        FORMULA,
    ),
    _optim(
        "wsd-floor-as-minimum",
        FALL,
        "return max(floor, (total - step) / decay)",
        "Your factor falls towards 0 and stops at the floor.",
        "The line from 1 to the floor is straight, and reaches the floor only at the end.",
        same_as=("optim.wsd-floor-ignored",),
    ),
    _optim(
        "wsd-negative-after-the-end",
        END,
        "pass",
        "After the end of training, your factor falls below the floor.",
        "The docstring says what happens after the end of training.",
    ),
    _optim(
        "wsd-never-falls",
        STAY,
        STAY.replace("total - decay", "total"),
        "Your factor does not fall.",
        BORDERS,
    ),
)
