"""Errors for arguments of another type than a public method declares.

Public methods do not check the types of their arguments in advance: that would slow down every call. If a call fails
with one of Python's own errors, its arguments are compared with the annotations of the method. If one does not match,
the caller receives `InvalidInput`, which names it. Otherwise the error is a defect of the library, and is not changed.
"""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from inspect import Parameter, Signature
from types import SimpleNamespace
from typing import Any, Final, get_type_hints

from pydantic import ConfigDict, PydanticUserError, TypeAdapter, ValidationError

from graveler_core.errors import InvalidInput

PYTHON_ERRORS: Final = (TypeError, AttributeError, ValueError, OverflowError)
"""Errors that Python raises for a value of another type than the code expects."""
_SHOWN: Final = 100
"""Maximum number of characters of a value in an error message."""
_ANY_CLASS: Final = ConfigDict(arbitrary_types_allowed=True)


def wrong_argument(
    method: Callable[..., object], signature: Signature, arguments: Mapping[str, Any]
) -> InvalidInput | None:
    """Return the error for the first argument whose type is not the declared one.

    Args:
        method: The public method.
        signature: Its signature.
        arguments: Arguments by name.

    Returns:
        The error, or `None` if all arguments have the declared types, as far as these can be checked.
    """
    for name, parameter in signature.parameters.items():
        annotation, variadic = parameter.annotation, parameter.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
        if name not in arguments or annotation is Parameter.empty or variadic:
            continue
        if not _matches(arguments[name], annotation, method):
            return InvalidInput(
                f"{method.__name__}: {name} {_shown(name, arguments[name])} must be of type {annotation}", argument=name
            )
    return None


def _matches(value: object, annotation: Any, method: Callable[..., object]) -> bool:
    """Return false if a value certainly has another type. Annotations that cannot be evaluated match every value."""
    adapter = _adapter(annotation, method)
    if adapter is None:
        return True
    try:
        checked = adapter.validate_python(value, strict=True)
        if isinstance(checked, Iterator) and not isinstance(value, Iterator):
            deque(checked, maxlen=0)  # the items of an iterable are checked one by one
    except ValidationError:
        return False
    return True


def _adapter(annotation: Any, method: Callable[..., object]) -> TypeAdapter[Any] | None:
    where: Any = SimpleNamespace(__annotations__={"value": annotation})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            hint = get_type_hints(where, method.__globals__)["value"]
        except NameError:
            return None
        for config in (_ANY_CLASS, None):
            with suppress(PydanticUserError):
                return TypeAdapter(hint, config=config)
    return None


def _shown(name: str, value: object) -> str:
    if "secret" in name:
        return f"(a {type(value).__name__})"
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
