"""Permission rules of partitioned scans.

A scan remembers the refs through which it was opened. So each call is checked as a listing through the same refs. A
plan is a plain value, which the caller may have changed. To open one, the caller must be allowed to read its prefix
through any ref.
"""

from __future__ import annotations

from collections.abc import Iterator

from graveler_core.guard.call import GuardedCall, rule
from graveler_core.guard.scope import Scope
from graveler_core.model.names import prefix_key
from graveler_core.model.permission import Action, Request


@rule
def of_scan(call: GuardedCall, *actions: Action) -> Iterator[Request]:
    """Require actions on every path of the handle's scan, through each of its refs."""
    scan = call.handle
    yield from (scope.on_prefix(action, scan.plan.prefix) for scope in scan._scopes for action in actions)


@rule
def of_plan(call: GuardedCall, *actions: Action) -> Iterator[Request]:
    """Require actions on every path that begins with the prefix of the argument `plan`, through any ref."""
    prefix = call.arguments["plan"].prefix
    prefix_key(prefix)
    yield from (Scope(call.scope.repository).on_prefix(action, prefix) for action in actions)
