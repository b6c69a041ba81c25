"""A table of a TOML file whose keys and types are checked: what is wrong is one sentence with file and key."""

import difflib
from collections.abc import Mapping
from typing import Any, NoReturn

from course.errors import UserError

KINDS = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    list: "a list",
    dict: "a table",
}


class Table:
    """A table of which each key is taken once; `end` complains about those that nobody took.

    Args:
        where: what the messages begin with: the file, and the table in it.
    """

    def __init__(self, entries: Mapping[str, Any], where: str) -> None:
        self.where = where
        self._entries = dict(entries)
        self._known: list[str] = []

    def wrong(self, key: str, what: str) -> NoReturn:
        """Raise what is wrong with a key."""
        raise UserError(f"{self.where}: {key} {what}")

    def take(self, key: str, kind: type, default: Any = None) -> Any:
        """The value of a key. Without a default there has to be one.

        Raises:
            UserError: if it is missing, or of another kind.
        """
        self._known.append(key)
        if key not in self._entries:
            if default is None:
                raise UserError(f"{self.where}: the key {key} is missing; it should be {KINDS[kind]}")
            return default
        value: Any = self._entries.pop(key)
        if type(value) is not kind:
            self.wrong(key, f"must be {KINDS[kind]}, not {KINDS.get(type(value), 'a date')}")
        if kind is str and default is None and not str(value).strip():
            self.wrong(key, "is empty")
        return value

    def names(self, key: str, default: list[str] | None = None, single: bool = False) -> tuple[str, ...]:
        """The value of a key that is a list of different texts.

        Args:
            single: a text alone will do as well.

        Raises:
            UserError: if it is something else.
        """
        if single and type(self._entries.get(key)) is str:
            return (self.take(key, str),)
        values = self.take(key, list, default)
        for value in values:
            if type(value) is not str or not value.strip():
                self.wrong(key, f"must be a list of texts, but {value!r} is in it")
            if values.count(value) > 1:
                self.wrong(key, f"names {value} twice")
        return tuple(values)

    def rest(self) -> dict[str, Any]:
        """All keys that are left, of a table whose keys are names, with their values."""
        taken, self._entries = self._entries, {}
        return taken

    def end(self) -> None:
        """See that no key is left.

        Raises:
            UserError: if there is one; the message guesses what was meant.
        """
        for key in self._entries:
            (close,) = difflib.get_close_matches(key, self._known, 1) or [""]
            guess = f"; did you mean {close}?" if close else f"; the keys are {', '.join(self._known)}"
            raise UserError(f"{self.where}: there is no key {key}{guess}")
