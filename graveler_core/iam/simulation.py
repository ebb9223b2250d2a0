"""Asking what a user might do, without being that user: by what is stored at this moment, with no secret."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from graveler_core.errors import InvalidInput
from graveler_core.iam.effective import effective_policies
from graveler_core.iam.entities import USERS, not_found
from graveler_core.iam.evaluation import Decision, evaluate
from graveler_core.iam.principal import in_context
from graveler_core.kv.store import Store
from graveler_core.model.clock import Clock
from graveler_core.model.ids import UserId
from graveler_core.model.permission import RESOURCES, Action, ContextKey, Request, begins_resource
from graveler_core.model.policy_document import moment


def request(action: str, resource: str, context: Mapping[str, str], *, prefix: bool = False) -> Request:
    """A request in words.

    Raises:
        InvalidInput: there is no such action, resource or key of the context, or the time is none.
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


def simulate(kv: Store, clock: Clock, user: UserId, asked: Request) -> Decision:
    """What a principal of this user would decide if it read its policies now; a time that is asked for stands.

    Raises:
        NotFound: (`UserNotFound`) there is no such user.
    """
    policies = effective_policies(kv, user)
    if policies is None:
        raise not_found(USERS, user)
    said = in_context(asked, user, clock)
    time = asked.context.get(ContextKey.TIME, said.context[ContextKey.TIME])
    return evaluate(policies, replace(said, context={**said.context, ContextKey.TIME: time}))
