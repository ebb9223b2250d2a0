"""The seam that every public method of a handle goes through: what the flow is called, and what it asks permission for.

`@operation("commit", needs.branch(Action.CREATE_COMMIT))` stands on each of them. The call is told to logs and spans as
a flow of this name (`telemetry.traced`), but for lazy ones, which have done nothing when they end. On a handle without
a principal, which is one of a store where no access control is set up, asking costs a look at one attribute. On a
guarded handle the rules are asked first, all of them, in their order; they yield requests, the first that is refused
ends the call, and nothing was changed. What they look at must be what the method then works on, so a rule may put a
value in place of an argument: a list for an iterable that can be read only once, a commit for a ref that may move.

What a lazy method gives is read later, when the caller may no longer, or a ref names something else. So its rules are
asked again before the first item, and while it is read whenever the caller's policies have been read anew.

A rule that yields nothing has found its proof already: see `graveler_core.facade.needs.narrowed`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial, wraps
from inspect import Signature, signature
from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec, Protocol, TypeVar

import pyarrow as pa

from graveler_core.facade.listing import Listing
from graveler_core.facade.place import Place, pinned, through
from graveler_core.model.permission import Request
from graveler_core.stores import Stores
from graveler_core.telemetry import Said, traced

if TYPE_CHECKING:
    from graveler_core.iam.principal import Principal

LAZY: Final = ("Iterator[", "Listing[", "pa.RecordBatchReader")
"""What methods give that read nothing before they are asked for it."""
MARK: Final = "__operation__"
"""The attribute of a method that holds its `Operation`."""


class Guarded(Protocol):
    """A handle."""

    @property
    def _stores(self) -> Stores: ...

    @property
    def _said(self) -> Said: ...  # the handle's repository and branch


H = TypeVar("H", bound=Guarded)
P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Call:
    """A call that is about to be made: on which handle, with which arguments, by whom."""

    handle: Any
    arguments: dict[str, Any]
    """By name, defaults filled in. What a rule puts here the method is called with."""
    principal: Principal

    @property
    def stores(self) -> Stores:
        """Where the handle works."""
        stores: Stores = self.handle._stores
        return stores

    @property
    def place(self) -> Place:
        """Where the handle is: every one but that on the whole store says so."""
        place: Place = self.handle._place
        return place

    def through(self, ref: str) -> Place:
        """The handle's repository, seen through a ref."""
        return through(self.stores, self.place.repository, ref)

    def pinned(self, ref: str) -> tuple[Place, str]:
        """As `through`, with the commit that the method is to be given in place of the ref."""
        return pinned(self.stores, self.place.repository, ref)

    def allows(self, request: Request) -> bool:
        """Whether something may be done, for rules that look for a proof."""
        return self.principal.allows(request)


Rule = Callable[[Call], Iterable[Request]]


@dataclass(frozen=True, slots=True)
class Operation:
    """What a public method does, and what must be allowed for it."""

    name: str
    rules: tuple[Rule, ...]


def operation(
    name: str, *rules: Rule, repository: str = "", branch: str = ""
) -> Callable[[Callable[Concatenate[H, P], R]], Callable[Concatenate[H, P], R]]:
    """Make a public method of a handle an operation.

    Args:
        name: Of the flow, as people know it.
        rules: What the caller must be allowed.
        repository: The argument that names the repository, where the handle has none.
        branch: The argument that names the branch, where the handle has none.

    Raises:
        PermissionDenied: (`AccessDenied`) the principal may not; from the method that is decorated.
    """

    def made(method: Callable[Concatenate[H, P], R]) -> Callable[Concatenate[H, P], R]:
        lazy = str(method.__annotations__.get("return", "")).startswith(LAZY)
        permitted = _permitted(method, rules, lazy=lazy)

        @wraps(method)
        def guarded(self: H, /, *args: P.args, **kwargs: P.kwargs) -> R:
            if self._stores.principal is None:
                return method(self, *args, **kwargs)
            return permitted(self, *args, **kwargs)

        called = guarded if lazy else traced(name, _where(method, repository, branch))(guarded)
        setattr(called, MARK, Operation(name, rules))
        return called

    return made


def _permitted(
    method: Callable[Concatenate[H, P], R], rules: tuple[Rule, ...], *, lazy: bool
) -> Callable[Concatenate[H, P], R]:
    """The method for those who have a principal."""

    def permitted(self: H, /, *args: P.args, **kwargs: P.kwargs) -> R:
        bound = _signature(method).bind(self, *args, **kwargs)
        bound.apply_defaults()
        principal = self._stores.principal
        assert principal is not None  # noqa: S101 - else the method itself is called
        call = Call(self, bound.arguments, principal)
        _ask(call, rules)
        result = method(*bound.args, **bound.kwargs)
        return _guarded_later(result, partial(_guard, call, rules)) if lazy else result

    return permitted


def _ask(call: Call, rules: tuple[Rule, ...]) -> None:
    """Raises `PermissionDenied` for the first request of the rules that is refused."""
    for rule in rules:
        for request in rule(call):
            call.principal.require(request)


def _guarded_later(result: Any, guard: Callable[[Iterator[Any]], Iterator[Any]]) -> Any:
    """What a lazy method gave, its items guarded."""
    if isinstance(result, Listing):
        return result.through(guard)
    if isinstance(result, pa.RecordBatchReader):
        return pa.RecordBatchReader.from_batches(result.schema, guard(iter(result)))
    return guard(result)


def _guard(call: Call, rules: tuple[Rule, ...], items: Iterator[Any]) -> Iterator[Any]:
    """The items, to those who may read them when they do."""
    asked: object = None
    while True:
        reading = call.principal.reading
        if reading is not asked:
            _ask(call, rules)
            asked = reading
        try:
            item = next(items)
        except StopIteration:
            return
        yield item


def _where(
    method: Callable[Concatenate[H, P], object], repository: str, branch: str
) -> Callable[Concatenate[H, P], Said]:
    """Finds the repository and the branch of a call: those of its handle, or the arguments that name them."""

    def where(self: H, /, *args: P.args, **kwargs: P.kwargs) -> Said:
        def of(known: str, name: str) -> str:
            if not name:
                return known
            at = [*_signature(method).parameters].index(name) - 1  # without the handle
            return str(kwargs[name]) if name in kwargs else str(args[at]) if at < len(args) else known

        held = self._said
        return of(held[0], repository), of(held[1], branch)

    return where


@cache
def _signature(method: Callable[..., object]) -> Signature:
    return signature(method)
