"""Options of the form KEY=VALUE."""

from __future__ import annotations

from graveler_core.errors import InvalidInput


def pairs(what: str, given: list[str], *, last: bool = False) -> dict[str, str]:
    """Return the keys and values of options of the form KEY=VALUE.

    Args:
        what: Name of a pair in error messages. These never show a value, which may be a secret.
        given: The options as given.
        last: Split at the last equals sign instead of the first.

    Raises:
        InvalidInput: An option has no key or no equals sign, or a key is given twice.
    """
    found: dict[str, str] = {}
    for text in given:
        key, equals, value = text.rpartition("=") if last else text.partition("=")
        if not key or not equals:
            raise InvalidInput(f"{what} {text.partition('=')[0]!r}: must be KEY=VALUE with a key")
        if key in found:
            raise InvalidInput(f"{what} {key!r}: is given twice")
        found[key] = value
    return found
