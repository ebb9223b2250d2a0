"""What operations on users, groups and policies ask permission for, as rules for `@operation`. Words of lakeFS.

Who may attach a policy hands out what it allows: so it is asked for both, the policy and whoever it is attached to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from graveler_core.facade.operation import Call, Rule
from graveler_core.model.names import group_id, policy_id, prefix_key, user_id
from graveler_core.model.permission import Action, Request, group_resource, policy_resource, user_resource


def listed(action: Action, resource: Callable[[str], str]) -> Rule:
    """On all that begin with the argument `prefix`."""

    def rule(call: Call) -> Iterator[Request]:
        prefix_key(call.arguments["prefix"])
        yield Request(action, resource(call.arguments["prefix"]), prefix=True)

    return rule


def everyone(action: Action, resource: Callable[[str], str]) -> Rule:
    """On all of a kind."""
    return lambda call: [Request(action, resource(""), prefix=True)]


def user(*actions: Action, named: str = "name") -> Rule:
    """On the user that an argument names."""
    return _one(actions, lambda text: user_resource(user_id(text)), named)


def group(*actions: Action, named: str = "name") -> Rule:
    """On the group that an argument names."""
    return _one(actions, lambda text: group_resource(group_id(text)), named)


def policy(*actions: Action, named: str = "name") -> Rule:
    """On the policy that an argument names."""
    return _one(actions, lambda text: policy_resource(policy_id(text)), named)


def holder(for_user: Action, for_group: Action) -> Rule:
    """On the user, or the group, that an argument names; the flow refuses both at once, and neither."""

    def rule(call: Call) -> Iterator[Request]:
        if call.arguments["user"] is not None:
            yield Request(for_user, user_resource(user_id(call.arguments["user"])))
        if call.arguments["group"] is not None:
            yield Request(for_group, group_resource(group_id(call.arguments["group"])))

    return rule


def _one(actions: tuple[Action, ...], resource: Callable[[str], str], named: str) -> Rule:
    def rule(call: Call) -> Iterator[Request]:
        name = resource(call.arguments[named])
        yield from (Request(action, name) for action in actions)

    return rule
