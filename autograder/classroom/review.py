"""`python -m autograder review DIR`: serve the review page, which saves changes in a results folder.

Reviewers on other machines connect over SSH (`ssh -L 8765:127.0.0.1:8765 HOST`); the server itself cannot be reached
from the network.
"""

import argparse
import contextlib
import getpass
import secrets
from pathlib import Path

from autograder.classroom.review_server import Review, Server
from autograder.classroom.reviewers import deal, read_reviewers, write_reviewers
from autograder.manifest import graded_folder
from autograder.reports.console import clean
from autograder.reports.regrade_requests import read_requests, still_open
from course.errors import UserError, run_command

PORT = 8765
LOCK = ".review.lock"


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m autograder review",
        description="Serve the review page on this machine; changes are saved in DIR.",
    )
    parser.add_argument("results", type=Path, metavar="DIR", help="folder written by batch, or an assignment")
    parser.add_argument(
        "--reviewer",
        action="append",
        metavar="NAME",
        help="name of a reviewer, who gets a link; can be repeated (default: you)",
    )
    parser.add_argument("--assign", action="store_true", help="assign the students without a reviewer evenly")
    parser.add_argument("--anonymous", action="store_true", help="show pseudonyms instead of names")
    parser.add_argument("--port", type=int, default=PORT, metavar="N", help="(%(default)s; 0: any free port)")
    return parser.parse_args(arguments)


def run(args: argparse.Namespace) -> int:
    from filelock import FileLock, Timeout

    args.results = graded_folder(args.results)
    reviewers = list(dict.fromkeys(args.reviewer or [getpass.getuser()]))
    review = Review(args.results, args.anonymous)
    lock = FileLock(args.results / LOCK)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise UserError(f"{args.results} is being reviewed by another server: use its links, or stop it") from None
    try:
        students = review.raw()
        if args.assign:
            write_reviewers(args.results, deal(students, reviewers, read_reviewers(args.results)))
        by_secret = {secrets.token_urlsafe(16): name for name in reviewers}
        try:
            server = Server(review, by_secret, args.port)
        except (OSError, OverflowError) as error:
            raise UserError(f"port {args.port} cannot be used ({error}): choose another --port") from error
        with server:
            asked = len(still_open(read_requests(args.results)))
            print(f"Submissions: {len(students)}. Regrade requests without an answer: {asked}. Open in a browser:")
            for secret, name in by_secret.items():
                print(clean(f"  {name}: {server.link(secret)}"))
            print("Only this machine can reach these links. Ctrl-C stops the server.", flush=True)
            with contextlib.suppress(KeyboardInterrupt):
                server.serve_forever()
        print(f"Changes saved in {args.results}: {review.changes}. Run batch again to update grades and pages.")
        return 0
    finally:
        lock.release()


def main(arguments: list[str]) -> int:
    args = parse_arguments(arguments)
    return run_command(lambda: run(args))
