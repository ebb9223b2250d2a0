"""The decorator of every public method of a handle: names the flow, and the permissions that the caller needs.

`@operation("commit", needs.branch(Action.CREATE_COMMIT))` decorates the method. The call is reported to logs and spans
as a flow of this name (`telemetry.traced`); lazy methods are not reported, because they have done nothing when they
return.

Handles without a principal belong to stores without access control: the check then costs one attribute lookup. On
handles with a principal all rules are evaluated first, in order. They yield requests; the first refused request ends
the call before anything is changed. The method must work on exactly what the rules have checked. A rule may therefore
replace an argument: an iterable by a list, because it can be read only once, or a ref by a commit, because the ref may
move.

Arguments of another type than the declared one raise `InvalidInput`: see `graveler_core.guard.arguments`.

A rule that yields no request has already proved that the call is allowed: see `graveler_core.guard.needs.narrowed`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, wraps
from inspect import Signature, signature
from types import GeneratorType
from typing import Concatenate, Final, ParamSpec, TypeVar, cast

from graveler_core.guard.arguments import PYTHON_ERRORS, wrong_argument
from graveler_core.guard.call import GuardedCall, GuardedHandle, Rule
from graveler_core.guard.evaluation import guarded, require
from graveler_core.telemetry import FlowTarget, traced

LAZY: Final = ("Iterator[", "Listing[", "pa.RecordBatchReader")
"""Beginnings of the return annotations of lazy methods, which read nothing before their result is read."""
MARK: Final = "__operation__"
"""Attribute of a decorated method that holds its `GuardedOperation`."""

H = TypeVar("H", bound=GuardedHandle)
P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class GuardedOperation:
    """Name of a public method's flow, and the rules for calling it."""

    name: str
    rules: tuple[Rule, ...]


def operation(
    name: str, *rules: Rule, repository: str = "", branch: str = ""
) -> Callable[[Callable[Concatenate[H, P], R]], Callable[Concatenate[H, P], R]]:
    """Return a decorator that makes a public method of a handle an operation.

    Args:
        name: Name of the flow in logs and spans.
        rules: Permission rules, evaluated in order.
        repository: Name of the argument that names the repository, if the handle has none.
        branch: Name of the argument that names the branch, if the handle has none.

    Raises:
        PermissionDenied: (`AccessDenied`) raised by the decorated method if a request of a rule is refused.
    """

    def decorate(method: Callable[Concatenate[H, P], R]) -> Callable[Concatenate[H, P], R]:
        lazy = str(method.__annotations__.get("return", "")).startswith(LAZY)
        permitted = _permitted(method, rules, lazy=lazy)

        @wraps(method)
        def checked(self: H, /, *args: P.args, **kwargs: P.kwargs) -> R:
            try:
                call = method if self._stores.principal is None else permitted
                result = call(self, *args, **kwargs)
            except PYTHON_ERRORS as error:
                _explain(error, method, self, *args, **kwargs)
                raise
            if isinstance(result, GeneratorType):
                return cast("R", _yielded(result, method, self, *args, **kwargs))
            return result

        called = checked if lazy else traced(name, _names(method, repository, branch))(checked)
        setattr(called, MARK, GuardedOperation(name, rules))
        return called

    return decorate


def _permitted(
    method: Callable[Concatenate[H, P], R], rules: tuple[Rule, ...], *, lazy: bool
) -> Callable[Concatenate[H, P], R]:
    """Return the method for handles with a principal."""

    def permitted(self: H, /, *args: P.args, **kwargs: P.kwargs) -> R:
        bound = _signature(method).bind(self, *args, **kwargs)
        bound.apply_defaults()
        principal = self._stores.principal
        assert principal is not None  # noqa: S101 - the caller has checked it
        call = GuardedCall(self, bound.arguments, principal)
        require(call, rules)
        result = method(*bound.args, **bound.kwargs)
        return guarded(result, call, rules) if lazy else result

    return permitted


def _explain(error: Exception, method: Callable[..., object], *args: object, **kwargs: object) -> None:
    """Raise the error for a wrong argument, if there is one."""
    try:
        bound = _signature(method).bind(*args, **kwargs)
    except TypeError:
        return
    wrong = wrong_argument(method, _signature(method), bound.arguments)
    if wrong is not None:
        raise wrong from error


def _yielded(
    items: Iterator[object], method: Callable[..., object], *args: object, **kwargs: object
) -> Iterator[object]:
    """Yield the items of a lazy result, with the same errors for wrong arguments."""
    try:
        yield from items
    except PYTHON_ERRORS as error:
        _explain(error, method, *args, **kwargs)
        raise


def _names(
    method: Callable[Concatenate[H, P], object], repository: str, branch: str
) -> Callable[Concatenate[H, P], FlowTarget]:
    """Return a function that finds the repository and the branch of a call, in the handle or in the arguments."""

    def names(self: H, /, *args: P.args, **kwargs: P.kwargs) -> FlowTarget:
        def found(known: str, name: str) -> str:
            if not name:
                return known
            at = [*_signature(method).parameters].index(name) - 1  # without the handle
            return str(kwargs[name]) if name in kwargs else str(args[at]) if at < len(args) else known

        held = self._flow_target
        return found(held[0], repository), found(held[1], branch)

    return names


@cache
def _signature(method: Callable[..., object]) -> Signature:
    return signature(method)
