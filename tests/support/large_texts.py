"""Texts that are large in one way each: what the grader does with a student's text must not cost more with them."""

import re
from collections.abc import Callable

from autograder.manifest import assignment
from autograder.submissions.read_submission import read_submission

ASSIGNMENT = assignment("transformer")
SOLUTION = read_submission(ASSIGNMENT.solution, ASSIGNMENT).sources
MODULE, FUNCTION = "mha", "compute_scaled_dot_product_attention"
SLIP = "math.sqrt(self.d_k)", "math.sqrt(self.d_model)"  # wrong values, whose line is searched for
PLACE = "        B, _, T_q, _ = x.shape\n"  # in FUNCTION, behind the slip


def repeated(piece: str, size: int) -> str:
    """A piece again and again, with {n} for the number, up to so many characters."""
    texts, left, number = [], size, 0
    while left > 0:
        texts.append(piece.replace("{n}", str(number)))
        left -= len(texts[-1])
        number += 1
    return "".join(texts[:-1])


def nested(start: str, inner: str, end: str, depth: int) -> str:
    return start * depth + inner + end * depth


# What stands on a line of its own in a function or a module, of about so many characters.
STATEMENTS: dict[str, Callable[[int], str]] = {
    "statements on a line": lambda size: repeated("q=1;", size),
    "calls on a line": lambda size: repeated("len('');", size),
    "names": lambda size: repeated("q{n}=1;", size),
    "names of names": lambda size: "q0=1;" + repeated("q{n}=q0;", size),
    "names in one sum": lambda size: "q0=q1=q2=q3=1;" + "r=" + repeated("q0+q1*q2-q3+", size) + "1",
    "a sum": lambda size: "q=" + repeated("1+", min(size, 2_000)) + "1",
    "sums": lambda size: repeated("q=1" + "+1" * 100 + ";", size),
    "a list": lambda size: f"q=[{repeated('0,', size)}]",
    "a list of names": lambda size: f"q=0;q=[{repeated('q,', size)}]",
    "a list of texts": lambda size: f"q=[{repeated(chr(39) * 2 + ',', size)}]",
    "a dictionary": lambda size: f"q={{{repeated('{n}:0,', size)}}}",
    "a comparison": lambda size: "q=1" + repeated("<1", size),
    "an attribute": lambda size: "q=lambda x:x" + repeated(".b", min(size, 2_000)),
    "attributes": lambda size: "q=lambda x:[" + repeated("x" + ".b" * 100 + ",", size) + "]",
    "conditions": lambda size: "q=1" + repeated(" and 1", size),
    "subscripts": lambda size: "q=lambda x:[" + repeated("x[:,1],", size) + "]",
    "arguments": lambda size: f"q=max({repeated('{n},', size)}0)",
    "keywords": lambda size: f"q=dict({repeated('k{n}=0,', size)})",
    "a text": lambda size: f"q='{'x' * size}'",
    "joined texts": lambda size: "q=(" + repeated("'xy' ", size) + "'')",
    "a formatted text": lambda size: "q=1;q=f'" + repeated("{q}", size) + "'",
    "brackets": lambda size: repeated(f"q={nested('(', '1', ')', 90)};", size),
    "lists in lists": lambda size: repeated(f"q={nested('[', '', ']', 90)};", size),
    "signs": lambda size: repeated(f"q={'-' * 90}1;", size),
    "functions without names": lambda size: repeated(f"q={nested('(lambda:', '1', ')', 60)};", size),
    "comprehensions": lambda size: repeated("q=[i for i in [j for j in [k for k in ()]]];", size),
    "formatted texts": lambda size: "q=1;" + repeated("q=f'{q:{q}}';", size),
    "a number": lambda size: f"q=0x{'f' * size}",
    "imports on a line": lambda size: repeated("import math;", size),
    "imported names": lambda size: "from math import " + repeated("pi as p{n},", size).rstrip(","),
    "continued lines": lambda size: "q=1" + repeated("\\\n+1", min(size, 3_000)) + " " + repeated("\\\n", size),
    "unpacked names": lambda size: f"{repeated('q{n},', size // 2)}*_={repeated('0,', size // 2)}",
}
# What is on lines of its own, with or without indentation.
BLOCKS: dict[str, Callable[[int], str]] = {
    "functions": lambda size: repeated("def f{n}(a): return a+1\n", size),
    "functions of tensors": lambda size: repeated(
        "def f{n}(a,b):\n    c=a@b\n    for i in range(3): c=c*i/a\n    return c.transpose(1,2)\n", size
    ),
    "classes": lambda size: repeated("class C{n}: pass\n", size),
    "methods": lambda size: "class C:\n" + repeated("  def f{n}(self, a): return a+1\n", size),
    "decorated": lambda size: "def d(f): return f\n" + repeated("@d\n", min(size, 1_000)) + "def g(): pass\n",
    "decorators": lambda size: "def d(f): return f\n" + repeated("@d\n@d\n@d\ndef g(): pass\n", size),
    "blocks": lambda size: repeated("".join("    " * n + "if 1:\n" for n in range(10)) + "    " * 10 + "q=1\n", size),
    "deep blocks": lambda size: repeated("".join(" " * n + "if 1:\n" for n in range(80)) + " " * 80 + "q=1\n", size),
    "loops": lambda size: repeated("for i in ():\n  for j in ():\n    q=i+j\n", size),
    "branches": lambda size: "if 0: q=1\n" + repeated("elif 0: q=1\n", min(size, 10_000)),
    "imports": lambda size: repeated("import math\n", size),
    "comments": lambda size: repeated("# x\n", size),
    "a comment": lambda size: f"#{'x' * size}\n",
    "empty lines": lambda size: "\n" * size,
    "lines": lambda size: repeated("q=1\n", size),
    "lines of lists": lambda size: "q=[\n" + repeated("0,\n", size) + "]\n",
    "docstrings": lambda size: repeated("'''x'''\n", size),
    "one docstring": lambda size: f"'''{'x ' * (size // 2)}'''\n",
    "form feeds": lambda size: "\f\n" * (size // 2),
}
COPIES: dict[str, Callable[[int], str]] = {
    "copies of a function of the handout": lambda size: (
        "from collections.abc import Sequence\nimport torch\n"
        + repeated(re.sub(r"def (\w+)\(", r"def \1{n}(", handout_function(), count=1), size)
    )
}


def handout_function() -> str:
    """A function of a stand-in, which students have."""
    text = (ASSIGNMENT.standins / "transformer.py").read_text(encoding="utf-8")
    found = re.search(r"^def .*?(?=^(def|class) )", text, flags=re.DOTALL | re.MULTILINE)
    assert found
    return found.group()


def texts(size: int) -> dict[str, str]:
    """What is added at the end of a module, of about so many characters."""
    plain = {name: make(size) + "\n" for name, make in STATEMENTS.items()}
    return plain | {name: make(size) for name, make in {**BLOCKS, **COPIES}.items()}


def in_function(size: int) -> dict[str, str]:
    """The same inside a function, indented, where it never runs or runs once."""
    plain = {name: make(size) + "\n" for name, make in STATEMENTS.items() if name != "imported names"}
    several = {name: make(size) for name, make in BLOCKS.items()}
    return {
        name: "".join(f"        {line}\n" for line in text.removesuffix("\n").split("\n"))  # a form feed ends no line
        for name, text in (plain | several).items()
    }


def wrong() -> str:
    """The module with a slip."""
    assert SLIP[0] in SOLUTION[MODULE]
    return SOLUTION[MODULE].replace(*SLIP)


def at_end(text: str, junk: str) -> str:
    return text + "\n\n" + junk


def inside(text: str, junk: str) -> str:
    assert text.count(PLACE) == 1
    return text.replace(PLACE, junk + PLACE)
