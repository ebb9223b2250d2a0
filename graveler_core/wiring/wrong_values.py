"""Errors for wrong arguments of public functions, as for the methods of handles."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from graveler_core.errors import GravelerError, InvalidInput, Kind

P = ParamSpec("P")
R = TypeVar("R")


def explained(function: Callable[P, R]) -> Callable[P, R]:
    """Return the function, which raises `InvalidInput` instead of one of Python's errors if an argument is wrong.

    See `graveler_core.guard.arguments`. Nothing is checked, and nothing is imported, in calls that succeed.
    """

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except GravelerError:
            raise
        except Exception as error:
            wrong = _wrong_argument(error, function, args, kwargs)
            if wrong is None:
                raise
            raise wrong from error

    return call


def require_characters(url: str) -> None:
    """Raise `InvalidInput` if the URL of a store has a lone surrogate, which no driver of a database can encode."""
    try:
        url.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"the URL of a store has no valid character at position {error.start}", kind=Kind.InvalidUrl
        ) from None


def _wrong_argument(
    error: Exception, function: Callable[..., object], args: tuple[object, ...], kwargs: dict[str, object]
) -> InvalidInput | None:
    from inspect import signature

    from graveler_core.guard.arguments import PYTHON_ERRORS, wrong_argument

    if not isinstance(error, PYTHON_ERRORS):
        return None
    declared = signature(function)
    try:
        given = declared.bind(*args, **kwargs).arguments
    except TypeError:  # the arguments do not fit the function, which `error` says
        return None
    return wrong_argument(function, declared, given)
