"""Evaluation of permission rules: before a call, and again while its lazy result is read.

The caller may lose a permission, or a ref may name another commit, between the call of a lazy method and the reading of
its result. The rules are therefore evaluated again before the first item, and whenever the caller's policies have been
read again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Protocol, runtime_checkable

import pyarrow as pa

from graveler_core.guard.call import GuardedCall, Rule

Check = Callable[[Iterator[Any]], Iterator[Any]]
"""Wraps an iterator so that permissions are checked while it is read."""


@runtime_checkable
class LazyResult(Protocol):
    """A lazy result that can wrap its own items, such as a listing."""

    def through(self, guard: Check) -> LazyResult:
        """Return the same result, with its items wrapped by `guard`."""


def require(call: GuardedCall, rules: tuple[Rule, ...]) -> None:
    """Evaluate the rules in order.

    Raises:
        PermissionDenied: a request of a rule is refused. Later rules are not evaluated.
    """
    for rule in rules:
        for request in rule(call):
            call.principal.require(request)


def guarded(result: Any, call: GuardedCall, rules: tuple[Rule, ...]) -> Any:
    """Return the result of a lazy method, with the rules evaluated while its items are read.

    Args:
        result: A listing, an iterator or a `pyarrow.RecordBatchReader`.
        call: The call that returned it.
        rules: Rules of the call.
    """
    check: Check = partial(_checked, call, rules)
    if isinstance(result, LazyResult):
        return result.through(check)
    if isinstance(result, pa.RecordBatchReader):
        return pa.RecordBatchReader.from_batches(result.schema, check(iter(result)))
    return check(result)


def _checked(call: GuardedCall, rules: tuple[Rule, ...], items: Iterator[Any]) -> Iterator[Any]:
    checked: object = None
    while True:
        reading = call.principal.reading
        if reading is not checked:
            require(call, rules)
            checked = reading
        try:
            item = next(items)
        except StopIteration:
            return
        yield item
