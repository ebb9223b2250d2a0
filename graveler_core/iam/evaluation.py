"""Evaluation of a request against policies, as a pure function. A denial overrides every permission, and anything that
no statement allows is denied.

A statement matches a request if one of its actions, one of its resources and all of its conditions match. The policies
of a user are compiled once (`CompiledPolicies`). The statements that apply to an action are determined when the action
is first requested, so that each request checks only few of them.
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
class AccessDecision:
    """Result of an evaluation, and the statement that caused it."""

    allowed: bool
    by: PolicyId | None = None
    """Policy that allows or denies the request. `None` if the request is denied because nothing allows it."""
    statement: int | None = None
    """Number of the statement in the policy, from 1."""


DENIED = AccessDecision(False)


def evaluate(policies: Sequence[Policy], request: Request) -> AccessDecision:
    """Evaluate one request. The user is taken from the context of the request. For many requests, build
    `CompiledPolicies` once.

    Raises:
        InvalidInput: The user in the context has an invalid name.
    """
    return CompiledPolicies(policies, request.context.get(ContextKey.USER)).decide(request)


class CompiledPolicies:
    """Compiled policies for the requests of one user. Immutable, except for a cache."""

    def __init__(self, policies: Iterable[Policy], user: str | None) -> None:
        asks = None if user is None else user_id(user)
        self._rules = [
            _Rule(policy.id, number, statement, asks)
            for policy in policies
            for number, statement in enumerate(policy.statements, 1)
        ]
        self._of: dict[str, tuple[_Rule, ...]] = {}
        self.conditional = any(rule.conditional for rule in self._rules)
        """True if a result may depend on the context of a request."""

    def decide(self, request: Request) -> AccessDecision:
        """Evaluate one request."""
        for rule in self._speaking_of(request.action):
            if rule.fits(request):
                return rule.decision
        return DENIED

    def reaches(self, request: Request) -> bool:
        """Return true if a statement allows the action on some resource that begins with the prefix of a request.

        Conditions of the statement are ignored. The result is false if a statement without conditions denies the action
        on all resources with this prefix.
        """
        rules = self._speaking_of(request.action)
        if any(rule.denies_all(request.resource) for rule in rules):
            return False
        return any(rule.decision.allowed and rule.meets(request.resource) for rule in rules)

    def alike(self, request: Request, other: Request) -> bool:
        """Return true if a request for a prefix, and any request for a part of it, has the same result in two contexts
        at any time.

        The result is true only if no condition of a relevant statement distinguishes the contexts. Comparing the
        results alone is not enough: two conditions that fail today for different reasons may differ tomorrow.

        Args:
            request: Request for a prefix.
            other: The same request in the other context.
        """
        rules = (rule for rule in self._speaking_of(request.action) if rule.meets(request.resource))
        return not any(rule.parts(request, other) for rule in rules)

    def _speaking_of(self, action: str) -> tuple[_Rule, ...]:
        """Return the rules that apply to an action, denials first."""
        found = self._of.get(action)
        if found is not None:
            return found
        fitting = [rule for rule in self._rules if any(pattern.matches(action) for pattern in rule.actions)]
        self._of[action] = found = tuple(sorted(fitting, key=lambda rule: rule.decision.allowed))
        return found


class _Rule:
    """Compiled statement."""

    __slots__ = ("_conditions", "_in_prefix", "_resources", "actions", "conditional", "decision")

    def __init__(self, policy: PolicyId, number: int, statement: Statement, user: str | None) -> None:
        allows = statement.effect is Effect.ALLOW
        self.decision = AccessDecision(allows, policy, number)
        self.actions = [Pattern(action) for action in statement.actions]
        self._resources = [Pattern(text) for text in _resources(statement, user)]
        self._conditions = conditions(statement.conditions)
        self.conditional = bool(self._conditions)
        self._in_prefix = Pattern.covers if allows else Pattern.meets

    def fits(self, request: Request) -> bool:
        """Return true if the rule matches a request.

        A request for a prefix is for all resources with this prefix. A rule that allows must match all of them. A rule
        that denies must match at least one.
        """
        fits = self._in_prefix if request.prefix else Pattern.matches
        for pattern in self._resources:
            if fits(pattern, request.resource):
                return all(condition(request.context) for condition in self._conditions)
        return False

    def meets(self, prefix: str) -> bool:
        """Return true if the rule matches any resource that begins with the prefix."""
        return any(pattern.meets(prefix) for pattern in self._resources)

    def denies_all(self, prefix: str) -> bool:
        """Return true if the rule denies everything that begins with the prefix, in every context."""
        if self.decision.allowed or self._conditions:
            return False
        return any(pattern.covers(prefix) for pattern in self._resources)

    def parts(self, request: Request, other: Request) -> bool:
        """Return true if one of the conditions differs between the two contexts."""
        return any(holds(request.context) is not holds(other.context) for holds in self._conditions)


def _resources(statement: Statement, user: str | None) -> Iterable[str]:
    """Yield the resource patterns for a user. Without a known user, denials that depend on the user apply to
    everything.
    """
    for text in statement.resources:
        if USER_VARIABLE not in text:
            yield text
        elif user is not None:
            yield text.replace(USER_VARIABLE, user)
        elif statement.effect is Effect.DENY:
            yield EVERYTHING
