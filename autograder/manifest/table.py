"""A TOML table with checked keys and types. Each error message is one sentence that names the file and the key."""

import difflib
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, NoReturn

from course.errors import UserError

MOST_DIGITS = 50
KINDS = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    Decimal: "a number",
    str: "a string",
    list: "a list",
    dict: "a table",
}


def exact(text: str) -> Decimal:
    """Return a number as it is written, without rounding.

    Raises:
        ValueError: if it is not a number, or has so many digits that computing with it would take forever.
    """
    try:
        number = Decimal(text)
    except InvalidOperation:
        raise ValueError(f"{text!r} is not a number") from None
    if abs(number.adjusted()) > MOST_DIGITS or len(number.as_tuple().digits) > MOST_DIGITS:
        raise ValueError(f"{text} has more than {MOST_DIGITS} digits")
    return number


class Table:
    """A table in which each key is read once; `end` reports the keys that were not read.

    Args:
        where: the beginning of error messages: the file, and the table in it.
    """

    def __init__(self, entries: Mapping[str, Any], where: str) -> None:
        self.where = where
        self._entries = dict(entries)
        self._known: list[str] = []

    def wrong(self, key: str, what: str) -> NoReturn:
        """Raise an error about a key."""
        raise UserError(f"{self.where}: {key} {what}")

    def take(self, key: str, kind: type | tuple[type, ...], default: Any = None) -> Any:
        """Return the value of a key, which is required if there is no default.

        Args:
            kind: the allowed type or types.

        Raises:
            UserError: if it is missing, or of the wrong type.
        """
        self._known.append(key)
        kinds = kind if isinstance(kind, tuple) else (kind,)
        wanted = " or ".join(KINDS[each] for each in kinds if each is not int or Decimal not in kinds)
        if key not in self._entries:
            if default is None:
                raise UserError(f"{self.where}: the key {key} is missing; it should be {wanted}")
            return default
        value: Any = self._entries.pop(key)
        if type(value) not in kinds:
            self.wrong(key, f"must be {wanted}, not {KINDS.get(type(value), 'a date')}")
        if type(value) is str and default is None and not value.strip():
            self.wrong(key, "is empty")
        return value

    def names(self, key: str, default: list[str] | None = None, single: bool = False) -> tuple[str, ...]:
        """Return the value of a key that must be a list of distinct strings.

        Args:
            single: whether a single string is allowed too.

        Raises:
            UserError: if it is anything else.
        """
        if single and type(self._entries.get(key)) is str:
            return (self.take(key, str),)
        values = self.take(key, list, default)
        for value in values:
            if type(value) is not str or not value.strip():
                self.wrong(key, f"must be a list of strings, but contains {value!r}")
            if values.count(value) > 1:
                self.wrong(key, f"names {value} twice")
        return tuple(values)

    def tables(self) -> dict[str, dict[str, Any]]:
        """Return all remaining keys, whose values must be tables.

        Raises:
            UserError: if one is anything else.
        """
        return {key: self.take(key, dict) for key in list(self._entries)}

    def rest(self) -> dict[str, Any]:
        """Return all remaining keys with their values, for a table whose keys are names."""
        taken, self._entries = self._entries, {}
        return taken

    def end(self) -> None:
        """Check that all keys have been read.

        Raises:
            UserError: if one is left; the message suggests a similar key.
        """
        for key in self._entries:
            (close,) = difflib.get_close_matches(key, self._known, 1) or [""]
            guess = f"; did you mean {close}?" if close else f"; the keys are {', '.join(self._known)}"
            raise UserError(f"{self.where}: there is no key {key}{guess}")
