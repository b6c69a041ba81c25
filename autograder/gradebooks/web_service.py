"""Requests to a learning platform: JSON over HTTPS, with a token from the environment."""

import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from http.client import HTTPException
from typing import Any
from urllib.parse import urlencode, urlsplit

from course.errors import UserError

TRIES = 4  # for a request that only reads
SECONDS = 60.0
PAUSE = 1.0  # before the second try; then twice as long, and so on
NOT_FOUND = 404
BUSY = (429, 502, 503, 504)


class NotThere(UserError):
    """The platform has nothing at this address."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Refuses redirects, which would send the token to an address that nobody specified."""

    def redirect_request(self, *_: Any) -> None:
        return None


class Service:
    """A learning platform: its address and the token for it.

    Args:
        url: such as https://canvas.example.edu.
        variable: the environment variable that holds the token.

    Raises:
        UserError: if there is no token, or it would be sent unencrypted.
    """

    def __init__(self, url: str, variable: str) -> None:
        parts = urlsplit(url)
        local = parts.scheme == "http" and parts.hostname in ("127.0.0.1", "localhost")
        if not parts.netloc or not (parts.scheme == "https" or local):
            raise UserError(f"--url must begin with https://, not {url!r}: the token is sent there")
        self.token = os.environ.get(variable, "").strip()
        if not self.token:
            raise UserError(f"put your token into the environment variable {variable}; no option accepts it")
        self.url = url.rstrip("/")
        self._open = urllib.request.build_opener(_NoRedirect).open

    def ask(
        self,
        path: str,
        fields: Sequence[tuple[str, str]] = (),
        post: bool = False,
        once: bool = False,
        bearer: bool = True,
    ) -> tuple[Any, str]:
        """Return the response and the address of its next page, if there is one.

        Args:
            path: relative to the address, or a full address below it.
            fields: the parameters.
            post: whether the fields are sent as the body of a POST request.
            once: whether the request must not be repeated, since it changes something.
            bearer: whether the token is sent in the header.

        Raises:
            NotThere: if there is nothing at this path.
            UserError: if the platform refuses, or does not answer.
        """
        address = path if path.startswith(f"{self.url}/") else self.url + path
        body = urlencode(fields).encode() if post else None
        if fields and not post:
            address += ("&" if "?" in address else "?") + urlencode(fields)
        headers = {"Accept": "application/json"} | ({"Authorization": f"Bearer {self.token}"} if bearer else {})
        wait = PAUSE
        for left in reversed(range(1 if once else TRIES)):
            try:
                with self._open(urllib.request.Request(address, body, headers), timeout=SECONDS) as answer:
                    return json.loads(answer.read()), _next(answer.headers.get("Link", ""))
            except urllib.error.HTTPError as error:
                if error.code == NOT_FOUND:
                    raise NotThere(f"{self.url} has no {path} (404): check --url") from error
                said = error.read(2000).decode(errors="replace")
                busy = error.code in BUSY or (error.code == 403 and "Rate Limit" in said)
                why = self._refused(error.code, said)
            except (OSError, HTTPException) as error:
                busy, why = True, f"{self.url} does not answer ({getattr(error, 'reason', None) or error})"
            except ValueError:
                busy, why = False, f"{self.url} does not answer in JSON: check --url"
            if not busy or not left:
                break
            time.sleep(wait)
            wait *= 2
        raise UserError(f"{why}. Run the same command again: grades that have arrived are not sent twice")

    def _refused(self, status: int, said: str) -> str:
        if status == 401:
            return f"{self.url} does not accept the token: it may have expired, or lack the right to grade"
        if 300 <= status < 400:
            return f"{self.url} redirects to a different address: pass that address as --url"
        return f"{self.url} refuses ({status}): {' '.join(said.replace(self.token, '...').split())[:300]}"


def _next(links: str) -> str:
    """Return the next page's address from a Link header of the form <address>; rel="next"."""
    for link in links.split(","):
        address, _, relation = link.partition(";")
        if 'rel="next"' in relation:
            return address.strip().strip("<>")
    return ""
