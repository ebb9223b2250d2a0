"""Simulation of requests: the result for a user, based on the stored policies, without a credential."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from graveler_core.errors import InvalidInput
from graveler_core.iam.effective import effective_policies
from graveler_core.iam.entities import USERS, not_found
from graveler_core.iam.evaluation import AccessDecision, evaluate
from graveler_core.iam.principal import in_context
from graveler_core.kv.store import Store
from graveler_core.model.clock import Clock
from graveler_core.model.ids import UserId
from graveler_core.model.permission import RESOURCES, Action, ContextKey, Request, begins_resource
from graveler_core.model.policy_document import moment


def request(action: str, resource: str, context: Mapping[str, str], *, prefix: bool = False) -> Request:
    """Build a request from texts.

    Args:
        action: Name of an action.
        resource: ARN, or the beginning of one with `prefix`.
        context: Context of the request.
        prefix: True to ask for everything that begins with `resource`.

    Returns:
        The request.

    Raises:
        InvalidInput: The action, the resource or a context key is unknown, or the time is invalid.
    """
    if action not in tuple(Action):
        raise InvalidInput(f"action {action!r}: must be one of {', '.join(Action)}")
    for key in context:
        if key not in tuple(ContextKey):
            raise InvalidInput(f"context key {key!r}: must be one of {', '.join(ContextKey)}")
    if not begins_resource(resource, more=prefix):
        raise InvalidInput(f"resource {resource!r}: names nothing; {RESOURCES}")
    if ContextKey.TIME in context:
        moment(ContextKey.TIME, context[ContextKey.TIME])
    return Request(Action(action), resource, dict(context), prefix)


def simulate(kv: Store, clock: Clock, user: UserId, asked: Request) -> AccessDecision:
    """Return the decision for a user based on the current policies. A time in the context of the request is used.

    Raises:
        NotFound: The user does not exist (`UserNotFound`).
    """
    policies = effective_policies(kv, user)
    if policies is None:
        raise not_found(USERS, user)
    said = in_context(asked, user, clock)
    time = asked.context.get(ContextKey.TIME, said.context[ContextKey.TIME])
    return evaluate(policies, replace(said, context={**said.context, ContextKey.TIME: time}))
