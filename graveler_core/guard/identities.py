"""Permission rules of operations on users, groups and policies, with the actions of lakeFS.

A caller who attaches a policy grants its permissions. Attaching therefore requires permission on the policy and on
the user or group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from graveler_core.guard.call import GuardedCall, Rule, rule
from graveler_core.model.names import group_id, policy_id, prefix_key, user_id
from graveler_core.model.permission import Action, Request, group_resource, policy_resource, user_resource


@rule
def listed(call: GuardedCall, action: Action, resource: Callable[[str], str]) -> Iterator[Request]:
    """Require an action on all resources whose names begin with the argument `prefix`."""
    prefix_key(call.arguments["prefix"])
    yield Request(action, resource(call.arguments["prefix"]), prefix=True)


def everyone(action: Action, resource: Callable[[str], str]) -> Rule:
    """Require an action on all resources of a kind."""
    return lambda call: [Request(action, resource(""), prefix=True)]


def user(*actions: Action, named: str = "name") -> Rule:
    """Require actions on the user that an argument names."""
    return _one(actions, lambda text: user_resource(user_id(text)), named)


def group(*actions: Action, named: str = "name") -> Rule:
    """Require actions on the group that an argument names."""
    return _one(actions, lambda text: group_resource(group_id(text)), named)


def policy(*actions: Action, named: str = "name") -> Rule:
    """Require actions on the policy that an argument names."""
    return _one(actions, lambda text: policy_resource(policy_id(text)), named)


@rule
def holder(call: GuardedCall, for_user: Action, for_group: Action) -> Iterator[Request]:
    """Require actions on the user or group that an argument names. The flow refuses calls with both or none of them."""
    if call.arguments["user"] is not None:
        yield Request(for_user, user_resource(user_id(call.arguments["user"])))
    if call.arguments["group"] is not None:
        yield Request(for_group, group_resource(group_id(call.arguments["group"])))


@rule
def _one(
    call: GuardedCall, actions: tuple[Action, ...], resource: Callable[[str], str], named: str
) -> Iterator[Request]:
    name = resource(call.arguments[named])
    yield from (Request(action, name) for action in actions)
