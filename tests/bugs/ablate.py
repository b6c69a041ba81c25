"""What each kind of evidence is worth: the corpus without one of them at a time (`python -m tests.bugs.ablate`)."""

import argparse
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any
from unittest import mock

from autograder.localization.suspects import find_suspects
from autograder.sandbox.worker_processes import make_workers
from tests.bugs.corpus import Bug, chosen_bugs
from tests.bugs.judge import Outcome, visible_outcome

SUSPECTS, RERUNS = "autograder.localization.suspects", "autograder.localization.reruns"
FIND = "autograder.localization.find_suspects"
EDITS = "autograder.localization.edits"


def _nothing(*_: Any, **__: Any) -> tuple[Any, ...]:
    return ()


def _suspects_of(kind: str) -> Callable[..., list[Any]]:
    return lambda *given: [one for one in find_suspects(*given) if one.kind != kind]


# What is switched off -> the names that are replaced, and by what.
PARTS: dict[str, dict[str, Any]] = {
    "all suspects": {FIND: lambda *_: []},
    **{f"suspects: {kind}": {FIND: _suspects_of(kind)} for kind in ("value", "call", "return", "discarded")},
    "all edits": {"autograder.localization.repair.RepairSearch.repairs": lambda *_: []},
    "edits: modules never called": {f"{EDITS}.expressions.ExpressionEdits._through": _nothing},
    "weak evidence": {f"{SUSPECTS}._evidence": lambda *_: ((), True)},
    "repeated calls": {
        f"{RERUNS}.{name}": _nothing
        for name in ("random_lines", "kept_lines", "unfilled_lines", "argument_lines", "using_lines", "misplaced_lines")
    },
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bugs.ablate", description=__doc__)
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="so many bugs, at random (all)")
    parser.add_argument("part", nargs="*", help=f"what to switch off (all): {', '.join(PARTS)}")
    args = parser.parse_args()
    bugs = chosen_bugs(held=False, sample=args.sample)
    print("| without | exact | next | another or mixed | none | exact lost | exact gained |\n" + "|---" * 7 + "|")
    with_all = dict(_outcomes(bugs, {}))
    _row("nothing: all is there", with_all, with_all)
    for part in args.part or PARTS:
        _row(part, dict(_outcomes(bugs, PARTS[part])), with_all)


def _outcomes(bugs: list[Bug], replaced: dict[str, Any]) -> Iterator[tuple[str, Outcome]]:
    workers = make_workers()
    with ExitStack() as stack:
        for name, value in replaced.items():
            stack.enter_context(mock.patch(name, value))
        try:
            for bug in bugs:
                yield bug.id, visible_outcome(bug, workers)
        finally:
            workers.close()


def _row(title: str, found: dict[str, Outcome], with_all: dict[str, Outcome]) -> None:
    count = Counter(one.lines for one in found.values())
    lost = sum(with_all[name].lines == "exact" != one.lines for name, one in found.items())
    gained = sum(with_all[name].lines != "exact" == one.lines for name, one in found.items())
    other = count["another"] + count["mixed"]
    print(
        f"| {title} | {count['exact']} | {count['next']} | {other} | {count['none']} | {lost} | {gained} |", flush=True
    )


if __name__ == "__main__":
    main()
