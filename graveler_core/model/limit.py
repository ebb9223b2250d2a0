"""The check of a limit on what users give. `docs/limits.md` lists all limits."""

from __future__ import annotations

from graveler_core.errors import Kind, LimitExceeded

_SHOWN = 60


def require_limit(what: str, size: int, maximum: int, unit: str, kind: Kind) -> None:
    """Require that a value is within its limit.

    Args:
        what: Name of the value in the error message.
        size: Size of the value.
        maximum: Largest size that is accepted.
        unit: Unit of the sizes, such as "bytes in UTF-8".
        kind: Kind of the error. Each kind of limit has its own.

    Raises:
        LimitExceeded: The size is above the maximum. `details` has `size` and `limit`.
    """
    if size > maximum:
        raise LimitExceeded(
            f"{what}: has {size:,} {unit}; the maximum is {maximum:,}", kind=kind, size=size, limit=maximum
        )


def require_name_length(what: str, name: str, maximum: int) -> None:
    """Require that a name is not too long.

    Args:
        what: Kind of name, for the error message, which shows the beginning of the name.
        name: The name.
        maximum: Largest number of characters.

    Raises:
        LimitExceeded: (`NameTooLong`) The name has more characters.
    """
    if len(name) > maximum:
        require_limit(f"{what} {name[:_SHOWN]!r}…", len(name), maximum, "characters", Kind.NameTooLong)
