"""Evaluation: policies and a request give a decision. Pure; deny wins, and what nothing allows is denied.

A statement fits a request if one of its actions, one of its resources and all of its conditions do. Policies are made
ready once for a user (`Rules`): which statements speak of an action is worked out when it is first asked for, so that
a request looks at few of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from graveler_core.iam.conditions import conditions
from graveler_core.iam.wildcard import Pattern
from graveler_core.model.iam import Effect, Policy, Statement
from graveler_core.model.ids import PolicyId
from graveler_core.model.names import user_id
from graveler_core.model.permission import EVERYTHING, ContextKey, Request
from graveler_core.model.policy_document import USER_VARIABLE


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether it may be done, and which statement says so."""

    allowed: bool
    by: PolicyId | None = None
    """The policy that allows or denies it; None: denied, as nothing allows it."""
    statement: int | None = None
    """Which of its statements, from 1."""


DENIED = Decision(False)


def evaluate(policies: Sequence[Policy], request: Request) -> Decision:
    """Decide one request. Who asks is what the request's context says. For many requests make `Rules` once.

    Raises:
        InvalidInput: the context names a user that cannot be one.
    """
    return Rules(policies, request.context.get(ContextKey.USER)).decide(request)


class Rules:
    """Policies, made ready for the requests of one user. Nothing in it changes but what it remembers."""

    def __init__(self, policies: Iterable[Policy], user: str | None) -> None:
        asks = None if user is None else user_id(user)
        self._rules = [
            _Rule(policy.id, number, statement, asks)
            for policy in policies
            for number, statement in enumerate(policy.statements, 1)
        ]
        self._of: dict[str, tuple[_Rule, ...]] = {}

    def decide(self, request: Request) -> Decision:
        """Decide one request."""
        for rule in self._speaking_of(request.action):
            if rule.fits(request):
                return rule.decision
        return DENIED

    def alike(self, request: Request, other: Request) -> bool:
        """Whether a request for a prefix, and any for a part of it, has one answer in two contexts, whatever the time.

        Said only where no condition of any statement that speaks of a part of it tells the contexts apart, one by one:
        two conditions that do not hold today for different reasons may part tomorrow.

        Args:
            other: The same request in the other context.
        """
        rules = (rule for rule in self._speaking_of(request.action) if rule.meets(request.resource))
        return not any(rule.parts(request, other) for rule in rules)

    def _speaking_of(self, action: str) -> tuple[_Rule, ...]:
        """The rules for an action, the denying ones first."""
        found = self._of.get(action)
        if found is not None:
            return found
        fitting = [rule for rule in self._rules if any(pattern.matches(action) for pattern in rule.actions)]
        self._of[action] = found = tuple(sorted(fitting, key=lambda rule: rule.decision.allowed))
        return found


class _Rule:
    """A statement, made ready."""

    __slots__ = ("_conditions", "_in_prefix", "_resources", "actions", "decision")

    def __init__(self, policy: PolicyId, number: int, statement: Statement, user: str | None) -> None:
        allows = statement.effect is Effect.ALLOW
        self.decision = Decision(allows, policy, number)
        self.actions = [Pattern(action) for action in statement.actions]
        self._resources = [Pattern(text) for text in _resources(statement, user)]
        self._conditions = conditions(statement.conditions)
        self._in_prefix = Pattern.covers if allows else Pattern.meets

    def fits(self, request: Request) -> bool:
        """Whether it speaks of what is asked for: of all of a prefix if it allows, of anything in it if it denies."""
        fits = self._in_prefix if request.prefix else Pattern.matches
        for pattern in self._resources:
            if fits(pattern, request.resource):
                return all(condition(request.context) for condition in self._conditions)
        return False

    def meets(self, prefix: str) -> bool:
        """Whether it speaks of anything whose name begins so."""
        return any(pattern.meets(prefix) for pattern in self._resources)

    def parts(self, request: Request, other: Request) -> bool:
        """Whether one of its conditions holds in one context and not in the other."""
        return any(holds(request.context) is not holds(other.context) for holds in self._conditions)


def _resources(statement: Statement, user: str | None) -> Iterable[str]:
    """The patterns of its resources, for a user. Of nobody that is known, what depends on the user is denied."""
    for text in statement.resources:
        if USER_VARIABLE not in text:
            yield text
        elif user is not None:
            yield text.replace(USER_VARIABLE, user)
        elif statement.effect is Effect.DENY:
            yield EVERYTHING
