"""A call of a guarded method, as its permission rules see it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol

from graveler_core.guard.scope import PinnedRef, Scope, pinned_scope, ref_scope
from graveler_core.model.permission import Request
from graveler_core.stores import Stores
from graveler_core.telemetry import FlowTarget

if TYPE_CHECKING:
    from graveler_core.iam.principal import Principal

P = ParamSpec("P")


class GuardedHandle(Protocol):
    """Interface of handles with guarded methods."""

    @property
    def _stores(self) -> Stores: ...

    @property
    def _flow_target(self) -> FlowTarget: ...  # the handle's repository and branch


@dataclass(frozen=True, slots=True)
class GuardedCall:
    """A call that is about to be made."""

    handle: Any
    """The handle whose method is called."""
    arguments: dict[str, Any]
    """Arguments by name, with defaults filled in. Rules may replace them; the method is called with the result."""
    principal: Principal
    """Principal that makes the call."""

    @property
    def stores(self) -> Stores:
        """Stores that the handle works on."""
        stores: Stores = self.handle._stores
        return stores

    @property
    def scope(self) -> Scope:
        """Scope of the handle. Handles on a whole store have none."""
        scope: Scope = self.handle._scope
        return scope

    def through(self, ref: str) -> Scope:
        """Return the handle's repository, read through a ref."""
        return ref_scope(self.stores, self.scope.repository, ref)

    def pinned(self, ref: str) -> PinnedRef:
        """Return the same as `through`, with the commit id that the method must use instead of the ref."""
        return pinned_scope(self.stores, self.scope.repository, ref)

    def allows(self, request: Request) -> bool:
        """Return `True` if the principal may do what is requested."""
        return self.principal.allows(request)


Rule = Callable[[GuardedCall], Iterable[Request]]
"""A permission rule: yields the requests that must be allowed before the call is made."""


def rule(function: Callable[Concatenate[GuardedCall, P], Iterable[Request]]) -> Callable[P, Rule]:
    """Turn a rule with parameters into a function that takes the parameters and returns the rule."""

    @wraps(function)
    def with_parameters(*args: P.args, **kwargs: P.kwargs) -> Rule:
        return lambda call: function(call, *args, **kwargs)

    return with_parameters
